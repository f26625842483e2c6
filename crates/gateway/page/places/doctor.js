// What works here, and what to do about the rest.

import { api } from '../api.js';
import { h } from '../dom.js';
import { copy } from '../notices.js';
import { checkLook } from '../states.js';
import { store } from '../store.js';
import { badge, load, page } from '../elements/page.js';

const ORDER = ['fail', 'warn', 'ok'];

export function mount(root) {
  let probe = false;
  let report = '';
  const body = page(root, 'Doctor',
    h('button', { onclick: () => { probe = false; again(); } }, 'Check again'),
    store.can('admin') && h('button', { title: 'Runs real escape attempts against the sandbox', onclick: () => { probe = true; again(); } }, 'Probe the sandbox'),
    h('button', { onclick: () => copy(report, 'Copied the report') }, 'Copy report'));
  const again = load(body, () => api.get('/api/doctor', { probe }), ({ checks }) => {
    report = checks.map((check) => `${checkLook(check.status).icon} ${check.check}: ${check.message}`).join('\n');
    const sorted = [...checks].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
    return h('div.stack', sorted.map(line));
  });
  return {};
}

function line(check) {
  return h('section', { class: `box ${check.status === 'fail' ? 'fail' : ''}` }, h('div.row', badge(checkLook(check.status)), h('strong', check.check), h('span.grow', check.message)),
    check.fix && h('div.to-change', h('pre.fix', check.fix), h('button', { onclick: () => copy(check.fix) }, 'Copy')));
}
