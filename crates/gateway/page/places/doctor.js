// What works here, and what to do about the rest.

import { api, badge, button, checkLook, copyButton, h, load, page, small, stateMark } from '../core.js';

const ORDER = ['error', 'warning', 'ok'];

export default function mount(root) {
  let report = '';
  const body = page(
    root,
    'Doctor',
    button('Check again', () => again(), { title: 'Tries real escapes from the sandbox; takes some seconds' }),
    copyButton(() => report, 'Copy report', 'Copied the report'),
  );
  const again = load(
    body,
    () => api.get('/api/doctor'),
    ({ checks, report: text }) => {
      report = text;
      const groups = Map.groupBy(checks, ({ status }) => status);
      const group = (status) => groups.has(status) && [h('h2', checkLook(status).word), groups.get(status).map(line)];
      return [small(report.split('\n', 1)), ORDER.map(group)];
    },
  );
  return {};
}

function line(check) {
  return h(
    'section.box',
    { class: check.status === 'error' && 'fail' },
    h('div.check-line', badge(checkLook(check.status)), h('strong', check.check), h('span', check.message)),
    check.details?.probes && attempts(check.details.probes),
    check.fix && h('div.to-change', h('pre.fix', check.fix), copyButton(() => check.fix)),
  );
}

/** Each attempt to get out of the sandbox, and what became of it. */
const attempts = (probes) =>
  h(
    'details',
    h('summary', `${probes.length} escape attempts`),
    h(
      'ul',
      probes.map(({ probe, outcome, evidence }) => {
        const mark = stateMark({ ...checkLook(outcome === 'blocked' ? 'ok' : 'warning'), word: outcome }, true);
        return h('li', mark, ` ${probe.replaceAll('_', ' ')}`, small(` ${evidence}`));
      }),
    ),
  );
