// A menu at a button: arrows move, Esc closes, focus returns.

import { h, prevent } from '../dom.js';
import { button } from '../notices.js';

/** A button that opens a menu of what `entries` returns. */
export const menuButton = (label, entries, attributes) =>
  button(label, (anchor) => openMenu(anchor, entries()), { ariaHasPopup: 'menu', ...attributes });

/** `entries`: `[{ label, run, danger }]`. */
export function openMenu(anchor, entries) {
  const buttons = entries.filter(Boolean).map(({ label, run, danger }) => {
    const choose = () => {
      close();
      return run();
    };
    return button(label, choose, { role: 'menuitem', tabindex: -1, class: danger && 'danger' });
  });
  const menu = h('div.menu', { role: 'menu', popover: 'auto', onkeydown: move }, buttons);
  menu.addEventListener('toggle', (event) => event.newState === 'closed' && close());
  document.body.append(menu);
  menu.showPopover();
  place();
  buttons[0]?.focus();

  function place() {
    const at = anchor.getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(at.left, innerWidth - menu.offsetWidth - 8))}px`;
    const below = at.bottom + 4;
    menu.style.top = `${below + menu.offsetHeight > innerHeight ? Math.max(8, at.top - menu.offsetHeight - 4) : below}px`;
  }

  function move(event) {
    const index = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (event.key === 'Tab') close();
    if (to === undefined) return;
    prevent(event);
    event.stopPropagation();
    buttons[(to + buttons.length) % buttons.length].focus();
  }

  function close() {
    if (!menu.isConnected) return;
    const hadFocus = menu.contains(document.activeElement);
    menu.remove();
    if (hadFocus) anchor.focus();
  }
}
