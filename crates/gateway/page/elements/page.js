// What the places share: head and body, loading, tables, empty states.

import { fill, h } from '../dom.js';
import { store } from '../store.js';
import { problem } from './tabs.js';

/** A place with a heading; `head` are elements beside it. */
export function page(root, title, ...head) {
  const body = h('div.place-body.stack');
  fill(root, h('header.place-head', h('h1', title), head), body);
  return body;
}

/** Fills `target` with what `build` makes of an answer. Returns a function that does so again. */
export function load(target, request, build) {
  let newest = 0;
  const again = async () => {
    newest += 1;
    const turn = newest;
    try {
      const answer = await request();
      if (turn === newest) fill(target, build(answer));
    } catch (error) {
      if (turn === newest) fill(target, problem(error));
    }
  };
  fill(target, h('p.muted', 'Loading…'));
  again();
  return again;
}

/** `columns`: `[[heading, cell(row), 'number'?]]`. */
export function table(columns, rows, label) {
  return h(
    'div.scroll',
    h(
      'table',
      { 'aria-label': label },
      h(
        'thead',
        h(
          'tr',
          columns.map(([name, , kind]) => h('th', { scope: 'col', class: kind }, name)),
        ),
      ),
      h(
        'tbody',
        rows.map((row) =>
          h(
            'tr',
            columns.map(([, cell, kind]) => h('td', { class: kind }, cell(row))),
          ),
        ),
      ),
    ),
  );
}

/** Says what would be here and what to do first. */
export function empty(text, label, to) {
  return h('div.empty', h('p', text), label && h('a.button.primary', { href: to }, label));
}

/** A label with a control in a filter bar. */
export function control(label, element) {
  return h('label', label, element);
}

export function select(options, value, onchange, attributes) {
  return h(
    'select',
    { onchange: (event) => onchange(event.target.value), ...attributes },
    options.map(([name, label]) => h('option', { value: name, selected: name === (value ?? '') }, label ?? name)),
  );
}

/** A word, or the icon and the word of a look, as a badge. */
export function badge(text, kind) {
  return h('span', { class: `badge ${text?.kind ?? (kind || '')}` }, text?.word ? `${text.icon} ${text.word}` : text);
}

/** A choice of the agents of this server. */
export function agentSelect(agent, choose) {
  const options = (store.me.agents ?? [agent]).map((name) => [name, `agent: ${name}`]);
  return select(options, agent, choose, { 'aria-label': 'Agent' });
}

/** `figures`: `[[label, value]]`. */
export const figureList = (figures) =>
  h(
    'div.figures',
    figures.map(([label, value]) => h('div.figure', h('b', value), label)),
  );
