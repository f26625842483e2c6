// The whole of an output that was cut, page by page.

import { act, api, bytes, dialog, fill, h, insertRendered } from '../core.js';

export function openOutput(call) {
  const text = h('div.output.rendered', { tabindex: 0, role: 'region', 'aria-label': 'Output' });
  const where = h('span.muted.grow', { role: 'status' });
  const before = [];
  let next = 0;
  const back = h('button', { disabled: true, onclick: () => show(before.pop()) }, 'Previous');
  const on = h('button', { disabled: true, onclick: () => show(next, true) }, 'Next');
  let shown = null;
  dialog(`Output of ${call.tool}`, [text, h('div.row', where, back, on)], [], { closeLabel: 'Close', className: 'wide' });
  show(0);

  async function show(offset, isForward = false) {
    await act(null, async () => {
      const part = await api.get('/api/spills', { path: call.spill, offset });
      if (isForward) before.push(shown);
      shown = part.offset;
      next = part.next;
      insertRendered(text, part.html);
      text.scrollTop = 0;
      const end = part.next ?? part.size;
      fill(where, `${bytes(part.offset)} to ${bytes(end)} of ${bytes(part.size)}`);
    });
    back.disabled = before.length === 0;
    on.disabled = next === null;
  }
}
