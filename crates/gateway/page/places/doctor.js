// What works here, and what to do about the rest.

import { api, badge, button, checkLook, copyButton, h, load, page } from '../core.js';

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
      return [...checks].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status)).map(line);
    },
  );
  return {};
}

function line(check) {
  return h(
    'section.box',
    { class: check.status === 'error' && 'fail' },
    h('div.check-line', badge(checkLook(check.status)), h('strong', check.check), h('span', check.message)),
    check.fix && h('div.to-change', h('pre.fix', check.fix), copyButton(() => check.fix)),
  );
}
