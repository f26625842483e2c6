// All open approvals over all sessions.

import { fill, h, visible } from '../dom.js';
import { ago } from '../format.js';
import { href } from '../router.js';
import { store } from '../store.js';
import { api } from '../api.js';
import { act } from '../notices.js';
import { openApproval } from '../elements/approval.js';

export function mount(root) {
  const body = h('div', { class: 'place-body' });
  fill(root, h('header', { class: 'place-head' }, h('h1', { class: 'grow' }, 'Inbox')), body);
  const stop = store.on('approvals', draw);
  draw();
  return { unmount: stop };

  function draw() {
    const approvals = [...store.approvals.values()];
    if (approvals.length === 0) {
      fill(body, h('div', { class: 'empty' }, h('p', {}, 'Nothing waits for you. When an agent needs an approval, it is listed here, whatever you look at.'), h('a', { class: 'button primary', href: href('chat') }, 'Ask the agent something')));
      return;
    }
    fill(body, h('div', { class: 'stack' }, approvals.map((approval) => entry(approval, approvals))));
  }

  function entry(approval, all) {
    const same = all.filter((other) => signature(other) === signature(approval));
    return h('section', { class: 'box', 'aria-label': `${approval.agent}: ${approval.tool}` },
      h('div', { class: 'row' }, h('strong', {}, `${approval.agent}: ${approval.tool}`), h('span', { class: 'badge' }, approval.can_undo ? 'can be undone' : 'cannot be undone'),
        h('span', { class: 'muted' }, ago(approval.asked)), h('span', { class: 'countdown', 'data-expires': approval.expires })),
      h('div', {}, approval.effects.map((effect) => h('span', { class: 'row' }, h('span', { class: 'badge ask' }, effect.kind), h('code', {}, visible(effect.target))))),
      h('small', {}, visible(approval.reason)),
      h('div', { class: 'row' }, h('button', { class: 'primary', onclick: () => openApproval(approval.id) }, 'Answer…'),
        same.length > 1 && same[0] === approval && store.can('approve') && denyAll(same),
        h('a', { href: href('chat', approval.session) }, 'Open the session')));
  }

  function denyAll(same) {
    const button = h('button', { class: 'danger', onclick: () => act(button, () => Promise.all(same.map(({ id, fingerprint }) => api.post(`/api/approvals/${encodeURIComponent(id)}`, { fingerprint, answer: 'deny' })))) }, `Deny all ${same.length} identical`);
    return button;
  }
}

const signature = ({ tool, effects, arguments: values }) => JSON.stringify([tool, effects, values]);
