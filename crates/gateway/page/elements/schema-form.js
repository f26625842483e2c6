// A form made from a JSON schema, and the same values as JSON. Both are always in step; no value is ever dropped.

import { api, button, fill, h, inStack, joined, jsonField, muted, prevent, select, small, uniqueId } from '../core.js';

/** Names of arguments that have several lines. */
const LONG = /(^|_)(content|text|patch|code|prompt|script|body|string)$/;
/** Names of arguments that are files of the workspace. */
const PATH = /(^|_)(path|file)$/;
const NOT_SET = 'not set';

/** `values` are the arguments at the start. */
export function schemaForm({ properties = {}, required = [] } = {}, start = {}) {
  let values = { ...start };
  /** The field that the server's validator named, and its words. */
  let problem = {};
  let json = null;
  const fields = h('div.form');
  const wrong = h('p.problem', { role: 'alert' });
  const toggle = button('{…} JSON', flip, { ariaPressed: false });
  const element = inStack(fields, wrong);
  drawFields();
  return { element, toggle, showProblem, values: () => values, isValid: () => json?.isValid() ?? true };

  /** Shows a message of the server's validator at the field that it names. */
  function showProblem(message) {
    const name = names().find((each) => message.includes(`'${each}'`));
    problem = { name, message };
    wrong.textContent = name ? '' : message;
    if (!json) drawFields();
  }

  function names() {
    return [...new Set([...Object.keys(properties), ...Object.keys(values)])];
  }

  function flip() {
    if (json && !json.isValid()) return;
    const oninput = () => (values = json.isValid() ? json.value() : values);
    json = json ? null : jsonField(values, { rows: 10, label: 'Arguments as JSON', oninput, isObject: true });
    toggle.ariaPressed = Boolean(json);
    wrong.textContent = '';
    if (!json) drawFields();
    fill(element, json?.element ?? fields, wrong);
  }

  function set(name, value) {
    if (value === undefined) delete values[name];
    else values[name] = value;
    if (problem.name === name) problem = {};
  }

  function drawFields() {
    fill(fields, names().length ? names().map(field) : muted('This tool takes no arguments.'));
  }

  function field(name) {
    const schema = properties[name] ?? {};
    const isRequired = required.includes(name);
    const id = uniqueId('field');
    const notes = [
      schema.description,
      schema.default !== undefined && !/default/i.test(schema.description) && `Default: ${JSON.stringify(schema.default)}.`,
      bounds(schema),
    ];
    const attributes = {
      id,
      'aria-describedby': `${id}-note`,
      ariaRequired: isRequired || null,
      ariaInvalid: problem.name === name || null,
      placeholder: schema.default ?? NOT_SET,
    };
    const isGroup = schema.enum && schema.enum.length <= 4;
    return [
      h(
        isGroup ? 'span' : 'label',
        { class: 'field-label', for: isGroup ? null : id, id: `${id}-label` },
        name,
        isRequired && h('span.state.fail', { title: 'required' }, ' *', h('span.visually-hidden', 'required')),
      ),
      h(
        'div.field',
        editor(name, schema, attributes),
        small({ id: `${id}-note` }, joined(notes, ' ')),
        problem.name === name && h('span.problem', { role: 'alert' }, problem.message),
      ),
    ];
  }

  function editor(name, schema, attributes) {
    const value = values[name];
    if (schema.enum?.every((each) => typeof each === 'string'))
      return schema.enum.length <= 4 ? radios(name, schema.enum, attributes) : selection(name, schema.enum, attributes);
    if (schema.type === 'boolean') return radios(name, [true, false], attributes);
    const fits = value === undefined || typeof value === (schema.type === 'integer' ? 'number' : schema.type);
    if (['integer', 'number'].includes(schema.type) && fits) return number(name, schema, attributes);
    if (schema.type === 'string' && fits) return text(name, attributes);
    const isTexts = schema.type === 'array' && schema.items?.type === 'string' && (value ?? []).every?.((each) => typeof each === 'string');
    if (isTexts) return chips(name, attributes);
    const raw = jsonField(value, { ...attributes, rows: 3, placeholder: 'JSON', oninput: () => raw.isValid() && set(name, raw.value()) });
    return raw.element;
  }

  function radios(name, options, { id }) {
    return h(
      'div.choices',
      { role: 'radiogroup', 'aria-labelledby': `${id}-label` },
      [undefined, ...options].map((option) =>
        h(
          'label',
          h('input', { type: 'radio', name: id, checked: values[name] === option, onchange: () => set(name, option) }),
          String(option ?? NOT_SET),
        ),
      ),
    );
  }

  function selection(name, options, attributes) {
    const entries = [['', NOT_SET], ...options.map((option) => [option])];
    return select(entries, values[name], (value) => set(name, value || undefined), attributes);
  }

  function number(name, { minimum: min, maximum: max, type }, attributes) {
    return h('input', {
      ...attributes,
      type: 'number',
      min,
      max,
      step: type === 'integer' ? 1 : 'any',
      value: values[name],
      oninput: ({ target }) => set(name, target.value === '' ? undefined : Number(target.value)),
    });
  }

  /** Empty text differs from no value: a button takes the value away. */
  function text(name, attributes) {
    const value = values[name] ?? '';
    const isLong = LONG.test(name) || value.includes('\n');
    const change = (next) => {
      set(name, next);
      unset.hidden = next !== '';
    };
    const unset = button('Empty text is sent. Do not send it', () => change(undefined), { class: 'link', hidden: values[name] !== '' });
    const files = PATH.test(name) && h('datalist', { id: `${attributes.id}-files` });
    const oninput = ({ target }) => {
      change(target.value);
      if (files) suggest(files, target.value);
    };
    const own = { ...attributes, oninput, value, list: files && files.id };
    return [files, isLong ? h('textarea.mono', { ...own, rows: 4 }) : h('input.mono', { ...own, type: 'text' }), unset];
  }

  function chips(name, attributes) {
    const list = h('div.chips');
    const draw = (texts = []) => {
      const remove = (index) => change(texts.filter((_, at) => at !== index));
      fill(
        list,
        texts.map((each, index) => h('span.chip', each || '(empty)', button('×', () => remove(index), { label: `Remove ${each}` }))),
      );
    };
    const change = (texts) => {
      set(name, texts.length ? texts : undefined);
      draw(texts);
    };
    const add = () => {
      if (input.value) change([...(values[name] ?? []), input.value]);
      input.value = '';
    };
    const onkeydown = (event) => {
      if (event.key !== 'Enter') return;
      prevent(event);
      add();
    };
    const input = h('input', { ...attributes, type: 'text', placeholder: 'Type and press Enter', onchange: add, onkeydown });
    draw(values[name]);
    return [list, input];
  }
}

/** Offers files of the workspace that fit what was typed. */
async function suggest(list, text) {
  const { files } = await api.get('/api/files', { text }).catch(() => ({ files: [] }));
  fill(list, files.map((value) => h('option', { value })));
}

function bounds({ minimum, maximum }) {
  if (minimum === undefined) return maximum === undefined ? '' : `At most ${maximum}.`;
  return maximum === undefined ? `At least ${minimum}.` : `${minimum} to ${maximum}.`;
}
