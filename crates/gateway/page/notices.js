// Words to the user: toasts, and live regions for screen readers.

import { h, inRow } from './dom.js';

const polite = h('div.visually-hidden', { role: 'log', ariaLive: 'polite', label: 'Announcements' });
const assertive = h('div.visually-hidden', { role: 'alert', ariaLive: 'assertive' });
const toasts = h('div.toasts', { role: 'region', label: 'Messages' });
const MOST_TOASTS = 4;

export function mountNotices() {
  document.body.append(polite, assertive, toasts);
}

/** Says something to a screen reader when it has time. */
export function announce(text) {
  polite.append(h('div', text.slice(0, 500)));
  while (polite.childElementCount > 3) polite.firstChild.remove();
}

/** Says something to a screen reader at once. */
export function alertUser(text) {
  assertive.textContent = text;
}

/** Shows a message for a while; failures stay until they are closed. */
export function toast(message, { fix = '', kind = '', action } = {}) {
  const actions = [action].flat().filter(Boolean);
  const choose = (chosen) => {
    box.remove();
    return chosen.run();
  };
  const words = { fail: '✗ Failed: ', ok: '✓ Done: ' };
  const box = h(
    'div',
    { class: `toast ${kind}`, role: kind === 'fail' ? 'alert' : 'status' },
    h(
      'div.grow',
      h('span', { class: kind ? `state ${kind}` : 'visually-hidden' }, words[kind] ?? 'Note: '),
      message,
      fix && h('div.fix', fix),
      actions.length > 0 &&
        inRow(
          actions.map((each) => button(each.label, () => choose(each))),
        ),
    ),
    button('×', () => box.remove(), { class: 'close', label: 'Close message' }),
  );
  toasts.append(box);
  while (toasts.childElementCount > MOST_TOASTS) toasts.firstChild.remove();
  if (kind !== 'fail') setTimeout(() => box.remove(), 10_000);
  return box;
}

/** Shows an error with what to do about it. */
export function report(error) {
  if (error?.status === 401) return;
  toast(error?.message ?? String(error), { fix: error?.help ?? '', kind: 'fail' });
}

/** Runs an action and reports a failure. Its button, if it has one, does nothing meanwhile, and keeps the focus. */
export async function act(action, element = {}) {
  if (element.ariaBusy) return undefined;
  element.ariaBusy = true;
  try {
    return await action(element);
  } catch (error) {
    return report(error);
  } finally {
    element.ariaBusy = null;
  }
}

/** A button that runs an action, which gets it; the attributes may be a class alone. */
export function button(label, action, attributes) {
  const given = typeof attributes === 'string' ? { class: attributes } : attributes;
  const element = h('button', { onclick: () => act(action, element), ...given }, label);
  return element;
}

/** A button that copies what `text` returns. */
export const copyButton = (text, label = 'Copy', what = 'Copied') => button(label, () => copy(text(), what));

export async function copy(text, what = 'Copied') {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what}.`, { kind: 'ok' });
  } catch {
    toast('The browser did not allow copying.', { fix: 'Select the text and press Ctrl-C.', kind: 'fail' });
  }
}
