// All open approvals over all sessions.

import { ago, api, button, empty, fill, h, href, link, page, pathTo, store, visible } from '../core.js';
import { openApproval } from '../elements/approval.js';

export default function mount(root) {
  const body = page(root, 'Inbox');
  draw();
  return { stops: [store.on('approvals', draw)] };

  function draw() {
    const approvals = [...store.approvals.values()];
    const text = 'Nothing waits for you. When an agent needs an approval, it is listed here, whatever you look at.';
    fill(
      body,
      approvals.length ? approvals.map((approval) => entry(approval, approvals)) : empty(text, 'Ask the agent something', href('chat')),
    );
  }

  function entry(approval, all) {
    const same = all.filter((other) => signature(other) === signature(approval));
    return h(
      'section.box',
      { ariaLabel: `${approval.agent}: ${approval.tool}` },
      h(
        'div.row',
        h('strong', `${approval.agent}: ${approval.tool}`),
        h('span.badge', approval.can_undo ? 'can be undone' : 'cannot be undone'),
        h('span.muted', ago(approval.asked)),
        h('span.countdown', { 'data-expires': approval.expires }),
      ),
      h(
        'div',
        approval.effects.map((effect) => h('span.row', h('span.badge.ask', effect.kind), h('code', visible(effect.target)))),
      ),
      h('small', visible(approval.reason)),
      h(
        'div.row',
        button('Answer…', () => openApproval(approval.id), { class: 'primary' }),
        same.length > 1 && same[0] === approval && store.can('approve') && denyAll(same),
        link('Open the session', href('chat', approval.session)),
      ),
    );
  }

  function denyAll(same) {
    const deny = ({ id, fingerprint }) => api.post(pathTo('approvals', id), { fingerprint, answer: 'deny' });
    return button(`Deny all ${same.length} identical`, () => Promise.all(same.map(deny)), { class: 'danger' });
  }
}

const signature = ({ tool, effects, arguments: values }) => JSON.stringify([tool, effects, values]);
