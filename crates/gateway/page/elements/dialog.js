// A modal dialog. Esc closes it and is always safe.

import { fill, h, inStack, muted, prevent, uniqueId } from '../dom.js';
import { button } from '../notices.js';
import { problem } from './tabs.js';

/** Shows an element as a dialog; when it closes, the focus goes back to where it was. */
export function showModal(box, onclose = () => {}) {
  const opener = document.activeElement;
  box.addEventListener('close', () => {
    box.remove();
    onclose();
    opener?.isConnected && opener.focus();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

/** Shows `content` under a heading; `actions` come after a button that closes it. */
export function dialog(title, content, actions = [], { onclose, className = '', closeLabel = 'Cancel' } = {}) {
  const id = uniqueId('title');
  const close = button(closeLabel, () => box.close());
  const body = h('div.dialog-body', h('h2', { id }, title), content, h('div.actions', close, actions));
  const box = h('dialog', { 'aria-labelledby': id, class: className }, body);
  return showModal(box, onclose);
}

/** Shows what `preview` would change as `build` draws it; the button does it, if it is possible. */
export async function waitDialog(title, label, preview, build, action) {
  const body = inStack(muted('Looking at what would change…'));
  const run = button(label, () => action().then(() => box.close()), { class: 'primary', disabled: true });
  const box = dialog(title, body, run);
  try {
    const { nodes, isPossible } = build(await preview());
    fill(body, nodes);
    run.disabled = !isPossible;
  } catch (error) {
    fill(body, problem(error));
  }
}

/** Asks for one line of text. */
export function promptText(title, label, value = '') {
  return new Promise((resolve) => {
    let answer = null;
    const done = () => {
      answer = input.value.trim();
      box.close();
    };
    const onkeydown = (event) => {
      if (event.key !== 'Enter' || event.isComposing) return;
      // The focus goes back to the opener, which the same key would press.
      prevent(event);
      done();
    };
    const input = h('input', { value, label: label, onkeydown });
    const box = dialog(title, input, button('OK', done, 'primary'), { onclose: () => resolve(answer) });
    input.focus();
    input.select();
  });
}
