// All open approvals over all sessions.

import { fill, h, visible } from '../dom.js';
import { ago } from '../format.js';
import { href } from '../router.js';
import { store } from '../store.js';
import { api } from '../api.js';
import { act } from '../notices.js';
import { openApproval } from '../elements/approval.js';

export function mount(root) {
  const body = h('div.place-body');
  fill(root, h('header.place-head', h('h1.grow', 'Inbox')), body);
  const stop = store.on('approvals', draw);
  draw();
  return { unmount: stop };

  function draw() {
    const approvals = [...store.approvals.values()];
    if (approvals.length === 0) {
      fill(
        body,
        h(
          'div.empty',
          h('p', 'Nothing waits for you. When an agent needs an approval, it is listed here, whatever you look at.'),
          h('a.button.primary', { href: href('chat') }, 'Ask the agent something'),
        ),
      );
      return;
    }
    fill(
      body,
      h(
        'div.stack',
        approvals.map((approval) => entry(approval, approvals)),
      ),
    );
  }

  function entry(approval, all) {
    const same = all.filter((other) => signature(other) === signature(approval));
    return h(
      'section.box',
      { 'aria-label': `${approval.agent}: ${approval.tool}` },
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
        h('button.primary', { onclick: () => openApproval(approval.id) }, 'Answer…'),
        same.length > 1 && same[0] === approval && store.can('approve') && denyAll(same),
        h('a', { href: href('chat', approval.session) }, 'Open the session'),
      ),
    );
  }

  function denyAll(same) {
    const button = h(
      'button.danger',
      {
        onclick: () =>
          act(button, () =>
            Promise.all(
              same.map(({ id, fingerprint }) => api.post(`/api/approvals/${encodeURIComponent(id)}`, { fingerprint, answer: 'deny' })),
            ),
          ),
      },
      `Deny all ${same.length} identical`,
    );
    return button;
  }
}

const signature = ({ tool, effects, arguments: values }) => JSON.stringify([tool, effects, values]);
