// The whole of an output that was cut, page by page.

import { act, api, button, bytes, dialog, h, inRow, insertRendered, setText } from '../core.js';

export default function openOutput(call) {
  const text = h('div.output.rendered', { tabindex: 0, role: 'region', label: 'Output' });
  const where = h('span.muted.grow', { role: 'status' });
  const before = [];
  let next = 0;
  const back = button('Previous', () => show(before.pop()), { disabled: true });
  const on = button('Next', () => show(next, true), { disabled: true });
  let shown = null;
  dialog(`Output of ${call.tool}`, [text, inRow(where, back, on)], [], { closeLabel: 'Close', className: 'wide' });
  show(0);

  async function show(offset, isForward = false) {
    await act(async () => {
      const part = await api.get('/api/spills', { path: call.spill, offset });
      if (isForward) before.push(shown);
      shown = part.offset;
      next = part.next;
      insertRendered(text, part.html);
      text.scrollTop = 0;
      setText(where, `${bytes(part.offset)} to ${bytes(part.next ?? part.size)} of ${bytes(part.size)}`);
    });
    back.disabled = before.length === 0;
    on.disabled = next === null;
  }
}
