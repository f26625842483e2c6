// Keys of the whole page. None of them works while the user types.

import { go, openHelp, openPalette, PLACES, prevent } from './core.js';

const BY_KEY = new Map(PLACES.map(([name, , key]) => [key, name]));
let prefix = 0;

export function listenToKeys(shell) {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (chord(event)) return;
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      isTyping(event.target) ||
      document.querySelector('dialog[open], [popover]:popover-open')
    )
      return;
    if (plain(event, shell) || search(event, shell.place) || shell.place?.key?.(event)) prevent(event);
  });
}

function chord(event) {
  const isControl = event.ctrlKey || event.metaKey;
  if (isControl && event.key.toLowerCase() === 'k') openPalette();
  else if (isControl && event.altKey && event.key.toLowerCase() === 'n') go('chat');
  else return false;
  prevent(event);
  return true;
}

function plain(event, shell) {
  if (prefix && performance.now() - prefix < 1500 && BY_KEY.has(event.key)) {
    prefix = 0;
    go(BY_KEY.get(event.key));
    return true;
  }
  prefix = event.key === 'g' ? performance.now() : 0;
  if (event.key === '?') openHelp();
  if (event.key === '[') shell.classList.toggle('alone');
  return '?g['.includes(event.key);
}

function search(event, place) {
  if (event.key === '/') place?.search?.focus();
  return event.key === '/' && place?.search;
}

function isTyping(target) {
  return target.closest?.('input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]') !== null;
}
