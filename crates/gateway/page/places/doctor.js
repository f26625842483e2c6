// What works here, and what to do about the rest.

import { api, badge, checkLook, copy, h, load, page } from '../core.js';

const ORDER = ['error', 'warning', 'ok'];

export function mount(root) {
  let report = '';
  const body = page(
    root,
    'Doctor',
    h(
      'button',
      { title: 'Real escape attempts against the sandbox are made; this takes some seconds', onclick: () => again() },
      'Check again',
    ),
    h('button', { onclick: () => copy(report, 'Copied the report') }, 'Copy report'),
  );
  const again = load(
    body,
    () => api.get('/api/doctor'),
    ({ checks }) => {
      report = checks.map((check) => `${checkLook(check.status).icon} ${check.check}: ${check.message}`).join('\n');
      return [...checks].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status)).map(line);
    },
  );
  return {};
}

function line(check) {
  return h(
    'section',
    { class: `box ${check.status === 'error' ? 'fail' : ''}` },
    h('div.check-line', badge(checkLook(check.status)), h('strong', check.check), h('span', check.message)),
    check.fix && h('div.to-change', h('pre.fix', check.fix), h('button', { onclick: () => copy(check.fix) }, 'Copy')),
  );
}
