// A menu at a button: arrows move, Esc closes, focus returns.

import { h } from '../dom.js';

/** `entries`: `[{ label, run, danger }]`. */
export function openMenu(anchor, entries) {
  const buttons = entries.filter(Boolean).map((entry) =>
    h(
      'button',
      {
        role: 'menuitem',
        tabindex: -1,
        class: entry.danger ? 'danger' : '',
        onclick: () => {
          close();
          entry.run();
        },
      },
      entry.label,
    ),
  );
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
    event.preventDefault();
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
