// Words to the user: toasts, and live regions for screen readers.

import { h } from './dom.js';

const polite = h('div.visually-hidden', { role: 'log', 'aria-live': 'polite', 'aria-label': 'Announcements' });
const assertive = h('div.visually-hidden', { role: 'alert', 'aria-live': 'assertive' });
const toasts = h('div.toasts', { role: 'region', 'aria-label': 'Messages' });
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
export function toast(message, { fix = '', kind = '', action = null } = {}) {
  const run = () => {
    box.remove();
    action.run();
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
      action && h('div', h('button', { onclick: run }, action.label)),
    ),
    h('button.close', { 'aria-label': 'Close message', onclick: () => box.remove() }, '×'),
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

/** Runs an action of a button: disables it meanwhile, reports a failure. */
export async function act(button, action) {
  if (button) button.disabled = true;
  try {
    return await action();
  } catch (error) {
    return report(error);
  } finally {
    if (button) button.disabled = false;
  }
}

/** A button that runs an action. */
export function actionButton(label, action, attributes) {
  const button = h('button', { onclick: () => act(button, action), ...attributes }, label);
  return button;
}

export async function copy(text, what = 'Copied') {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what}.`, { kind: 'ok' });
  } catch {
    toast('The browser did not allow copying.', { fix: 'Select the text and press Ctrl-C.', kind: 'fail' });
  }
}
