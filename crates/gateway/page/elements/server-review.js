// Tools of an MCP server that wait for the user: what changed since the last approval, and its log.

import { api, badge, button, dialog, h, inRow, mono, pathTo, plural, renderedOutput, renderedRegion, toast } from '../core.js';

export default async function openReview(name) {
  const path = pathTo('connections', name);
  const { changes, fingerprint, fault, log_html: log, server } = await api.post(`${path}/review`);
  const tools = plural(changes.length, 'tool');
  const approve = async () => {
    await api.post(`${path}/approve`, { fingerprint });
    box.close();
    toast(`${tools} of ${name} approved.`, { kind: 'ok' });
  };
  const box = dialog(
    `Tools of ${name}`,
    [
      fault && h('p.call-error', { role: 'alert' }, fault),
      changes.length > 0
        ? h('p', 'Descriptions of tools are instructions to the model. Approve what you have read.')
        : !fault && h('p', `Nothing waits: ${plural(server.tools?.length ?? 0, 'tool')} approved.`),
      changes.map(({ tool, why, diff_html: html }) =>
        h('section.stack', inRow(mono(tool), badge(why, 'ask')), renderedRegion(html, `Change of ${tool}`)),
      ),
      log && h('details', { open: Boolean(fault) }, h('summary', 'Its log'), renderedOutput(log)),
    ],
    changes.length > 0 && button(`Let models use ${tools}`, approve, 'primary'),
    { closeLabel: 'Close', className: 'wide' },
  );
}
