// Tabs by the pattern of the ARIA practices: arrows move, only the chosen one is in the Tab order.

import { fill, h, inStack, muted, prevent, uniqueId } from '../dom.js';

/** `entries`: `[[name, label, build]]`; `build()` returns nodes, at once or later. */
export function tabs(label, entries, { selected, onSelect = () => {} } = {}) {
  const panelId = uniqueId('panel');
  const panel = inStack({ role: 'tabpanel', id: panelId, tabindex: 0 });
  const buttons = entries.map(([, text], at) =>
    h('button', { role: 'tab', id: uniqueId('tab'), 'aria-controls': panelId, onclick: () => select(at) }, text),
  );
  const list = h('div.tabs', { role: 'tablist', label: label, onkeydown: move }, buttons);
  let current;

  function select(index) {
    current = index;
    buttons.forEach((each, at) => {
      each.ariaSelected = at === index;
      each.tabIndex = at === index ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', buttons[index].id);
    show(index);
    onSelect(entries[index][0]);
  }

  async function show(index) {
    const content = entries[index][2]();
    if (!(content instanceof Promise)) return fill(panel, content);
    fill(panel, muted('Loading…'));
    const nodes = await content.catch(problem);
    return current === index && fill(panel, nodes);
  }

  function move(event) {
    const last = entries.length - 1;
    const to = { ArrowRight: current === last ? 0 : current + 1, ArrowLeft: current ? current - 1 : last, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    prevent(event);
    event.stopPropagation();
    select(to);
    buttons[to].focus();
  }

  const first = entries.findIndex(([name]) => name === selected);
  select(Math.max(0, first));
  return { list, panel };
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
