// A modal dialog. Esc closes it and is always safe.

import { h, uniqueId } from '../dom.js';

/** Shows `content` under a heading; `actions` come after a button that closes it. */
export function dialog(title, content, actions = [], { onclose = () => {}, className = '', closeLabel = 'Cancel' } = {}) {
  const titleId = uniqueId('title');
  const opener = document.activeElement;
  const box = h(
    'dialog',
    { 'aria-labelledby': titleId, class: className },
    h(
      'div.dialog-body',
      h('h2', { id: titleId }, title),
      content,
      h('div.actions', h('button', { onclick: () => box.close() }, closeLabel), actions),
    ),
  );
  box.addEventListener('close', () => {
    box.remove();
    onclose();
    opener?.isConnected && opener.focus();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

/** Asks for one line of text. */
export function promptText(title, label, value = '') {
  return new Promise((resolve) => {
    let answer = null;
    const input = h('input', { value, 'aria-label': label, class: 'grow' });
    const done = () => {
      answer = input.value.trim();
      box.close();
    };
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.isComposing) return;
      // The focus goes back to the opener, which the same key would press.
      event.preventDefault();
      done();
    });
    const box = dialog(title, [input], [h('button', { class: 'primary', onclick: done }, 'OK')], { onclose: () => resolve(answer) });
    input.focus();
    input.select();
  });
}
