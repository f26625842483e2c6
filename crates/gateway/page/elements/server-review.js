// Tools of an MCP server that wait for the user: what changed since the last approval, and its log.

import { api } from '../api.js';
import { h, insertRendered } from '../dom.js';
import { plural } from '../format.js';
import { act, toast } from '../notices.js';
import { dialog } from './dialog.js';

export async function openReview(name) {
  const path = `/api/connections/${encodeURIComponent(name)}`;
  const { changes, fingerprint, fault, log_html: log, server } = await api.post(`${path}/review`);
  const approve = h(
    'button.primary',
    {
      onclick: () =>
        act(approve, async () => {
          await api.post(`${path}/approve`, { fingerprint });
          box.close();
          toast(`${plural(changes.length, 'tool')} of ${name} approved.`, { kind: 'ok' });
        }),
    },
    `Let models use ${plural(changes.length, 'tool')}`,
  );
  const box = dialog(
    `Tools of ${name}`,
    [
      fault && h('p.call-error', { role: 'alert' }, fault),
      changes.length === 0 && !fault && h('p', `Nothing waits: ${plural(server.tools?.length ?? 0, 'tool')} approved.`),
      changes.length > 0 && h('p', 'Descriptions of tools are instructions to the model. Approve what you have read.'),
      changes.map((change) =>
        h(
          'section.stack',
          h('div.row', h('code', change.tool), h('span.badge.ask', change.why)),
          insertRendered(h('div.rendered.scroll', { tabindex: 0, role: 'region', 'aria-label': `Change of ${change.tool}` }), change.diff_html),
        ),
      ),
      log && h('details', { open: Boolean(fault) }, h('summary', 'Its log'), insertRendered(h('div.output.rendered', { tabindex: 0 }), log)),
    ],
    changes.length > 0 ? [approve] : [],
    { closeLabel: 'Close', className: 'wide' },
  );
}
