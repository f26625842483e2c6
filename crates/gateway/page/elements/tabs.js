// Tabs by the pattern of the ARIA practices: arrows move, only the chosen one is in the Tab order.

import { fill, h, uniqueId } from '../dom.js';

/** `entries`: `[{ name, label, build }]`; `build()` returns nodes, at once or later. */
export function tabs(label, entries, { selected = entries[0]?.name, onSelect = () => {} } = {}) {
  const panelId = uniqueId('panel');
  const panel = h('div', { role: 'tabpanel', id: panelId, tabindex: 0, class: 'stack' });
  const buttons = entries.map((entry) =>
    h(
      'button',
      {
        role: 'tab',
        id: uniqueId('tab'),
        'aria-controls': panelId,
        onclick: () => select(entry.name),
      },
      entry.label,
    ),
  );
  const list = h('div', { role: 'tablist', 'aria-label': label, class: 'tabs', onkeydown: move }, buttons);
  let current;

  function select(name) {
    const index = Math.max(
      0,
      entries.findIndex((entry) => entry.name === name),
    );
    current = entries[index].name;
    buttons.forEach((button, at) => {
      button.setAttribute('aria-selected', String(at === index));
      button.tabIndex = at === index ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', buttons[index].id);
    show(entries[index]);
    onSelect(current);
  }

  async function show(entry) {
    const content = entry.build();
    if (!(content instanceof Promise)) return fill(panel, content);
    fill(panel, h('p.muted', 'Loading…'));
    try {
      const nodes = await content;
      if (current === entry.name) fill(panel, nodes);
    } catch (error) {
      fill(panel, problem(error));
    }
    return undefined;
  }

  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const index = entries.findIndex((entry) => entry.name === current);
    const to =
      event.key === 'Home' ? 0 : event.key === 'End' ? entries.length - 1 : step && (index + step + entries.length) % entries.length;
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    select(entries[to].name);
    buttons[to].focus();
  }

  if (entries.length) select(selected);
  return { list, panel, select };
}

/** An error where content would be. */
export function problem(error) {
  return h(
    'div.call-error',
    { role: 'alert' },
    h('div', h('span.state.fail', '✗ '), error.message ?? String(error)),
    error.help && h('div.fix', error.help),
  );
}
