// What the places share: head and body, loading, tables, empty states.

import { fill, h, inStack, keepFocus, muted } from '../dom.js';
import { joined } from '../format.js';
import { store } from '../store.js';
import { problem } from './tabs.js';

/** Whether this page may change what agents may do. */
export const isAdmin = () => store.can('admin');

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
      if (turn === newest) keepFocus(target, () => fill(target, build(answer)));
    } catch (error) {
      if (turn === newest) fill(target, problem(error));
    }
  };
  fill(target, muted('Loading…'));
  again();
  return again;
}

/** `columns`: `[[heading, cell(row), 'number'?]]`. */
export function table(columns, rows, label, attributes) {
  const line = (tag, cells) =>
    h(
      'tr',
      cells.map((cell, at) => h(tag, { class: columns[at][2], scope: tag === 'th' && 'col', 'data-name': columns[at][0] }, cell)),
    );
  const head = line(
    'th',
    columns.map(([name]) => name),
  );
  const body = rows.map((row) =>
    line(
      'td',
      columns.map(([, cell]) => cell(row)),
    ),
  );
  return h('div.scroll', h('table', { label, ...attributes }, h('thead', head), h('tbody', body)));
}

/** A heading with what belongs to it, in a frame. */
export const section = (title, ...content) => h('section.box', h('h2', title), content);

export const link = (label, href, attributes) => h('a', { href, ...attributes }, label);
export const linkButton = (label, href, attributes) => h('a.button', { href, ...attributes }, label);

/** Where a rule or a value is: `file:line`. */
export const sourceText = ({ file, line }) => joined([file, line], ':');

/** Says what would be here and what to do first. */
export function empty(text, label, to) {
  return h('div.empty', h('p', text), label && linkButton(label, to, { class: 'primary' }));
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

/** A field for JSON, which says what is wrong with it; nothing in it is no value. */
export function jsonField(start, { isObject, oninput = () => {}, ...attributes }) {
  const wrong = h('p.problem', { role: 'alert' });
  let value = start;
  const read = () => {
    try {
      const next = text.value ? JSON.parse(text.value) : isObject ? {} : undefined;
      if (isObject && next?.constructor !== Object) throw new Error('arguments are an object: {"name": value}');
      value = next;
      wrong.textContent = '';
    } catch (error) {
      wrong.textContent = `This is not yet valid JSON: ${error.message}`;
    }
    oninput();
  };
  const shown = start === undefined ? '' : JSON.stringify(start, null, 2);
  const text = h('textarea.mono', { spellcheck: 'false', oninput: read, value: shown, ...attributes });
  return { element: inStack(text, wrong), value: () => value, isValid: () => wrong.textContent === '' };
}

/** A word, or the icon and the word of a look, as a badge. */
export function badge(text, kind, attributes) {
  return h('span.badge', { class: text?.kind ?? kind, ...attributes }, text?.word ? `${text.icon} ${text.word}` : text);
}

const DELIVERIES = { delivered: 'ok', not_delivered: 'fail', unknown: 'ask', pending: 'accent', sending: 'accent' };

/** Whether a message arrived. */
export const deliveryBadge = (word, title) => badge(word.replaceAll('_', ' '), DELIVERIES[word], { title });

/** The icon of a look with its word for a screen reader, which is shown where it says more. */
export function stateMark({ icon, word, kind }, isWord) {
  const sign = h('span', { ariaHidden: true }, icon);
  return h('span.state', { class: kind, title: word }, sign, isWord ? ` ${word}` : h('span.visually-hidden', word));
}

/** A choice of the agents of this server. */
export function agentSelect(agent, choose) {
  const options = (store.me.agents ?? [agent]).map((name) => [name, `agent: ${name}`]);
  return select(options, agent, choose, { label: 'Agent' });
}

/** `figures`: `[[label, value]]`. */
export const figureList = (figures) =>
  h(
    'div.figures',
    figures.map(([label, value]) => h('div.figure', h('b', value), label)),
  );
