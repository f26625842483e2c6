// A text field with options below or above it: arrows move the choice, which a screen reader hears, and the field keeps the focus.

import { fill, h, prevent, uniqueId } from '../dom.js';

/** Options of `input`, each drawn by `draw(entry)`; `take(entry)` is called with the one that the user chooses. */
export function choices(input, name, { draw, take }) {
  const id = uniqueId('options');
  const list = h(`ul.${name}`, { role: 'listbox', id, label: 'Suggestions' });
  let entries = [];
  let at = 0;
  input.role = 'combobox';
  input.ariaAutoComplete = 'list';
  input.setAttribute('aria-controls', id);
  show([]);
  return { list, show, key, chosen: () => entries[at] };

  function show(next, nothing) {
    entries = next;
    at = 0;
    list.hidden = !entries.length && !nothing;
    input.ariaExpanded = !list.hidden;
    const option = (entry, index) =>
      h('li', { role: 'option', id: `${id}-${index}`, onmousedown: (event) => press(event, entry) }, draw(entry));
    fill(list, entries.length ? entries.map(option) : nothing);
    mark();
  }

  /** The field keeps the focus. */
  function press(event, entry) {
    prevent(event);
    take(entry);
  }

  function mark() {
    entries.forEach((_, index) => {
      list.children[index].ariaSelected = index === at;
    });
    list.children[at]?.scrollIntoView({ block: 'nearest' });
    if (entries.length) input.setAttribute('aria-activedescendant', `${id}-${at}`);
    else input.removeAttribute('aria-activedescendant');
  }

  /** Moves the choice; true if the key did. */
  function key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !entries.length) return false;
    prevent(event);
    at = (at + step + entries.length) % entries.length;
    mark();
    return true;
  }
}
