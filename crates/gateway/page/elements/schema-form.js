// A form made from a JSON schema, and the same values as JSON. Both are always in step; no value is ever dropped.

import { fill, h, uniqueId } from '../core.js';

const LONG = /content|text|patch|code|prompt|script|body|old_string|new_string/;

export class SchemaForm {
  /** `values` are the arguments at the start. */
  constructor(schema, values = {}) {
    this.schema = schema ?? {};
    this.values = { ...values };
    this.problems = new Map();
    this.fields = h('div.form');
    this.json = h('textarea', {
      rows: 10,
      class: 'mono',
      spellcheck: 'false',
      'aria-label': 'Arguments as JSON',
      oninput: () => this.#readJson(),
    });
    this.wrong = h('p.problem', { role: 'alert' });
    this.toggle = h('button', { 'aria-pressed': 'false', onclick: () => this.#flip() }, '{…} JSON');
    this.element = h('div.stack', this.fields, this.wrong);
    this.#drawFields();
  }

  /** Shows a message of the server's validator at the field that it names. */
  showProblem(message) {
    const named = this.#names().find((name) => message.includes(`'${name}'`));
    this.problems = new Map(named ? [[named, message]] : []);
    this.wrong.textContent = named ? '' : message;
    if (!this.isJson) this.#drawFields();
  }

  get hasWrongJson() {
    return this.isJson && this.wrong.textContent !== '';
  }

  #names() {
    const known = Object.keys(this.schema.properties ?? {});
    return [...known, ...Object.keys(this.values).filter((name) => !known.includes(name))];
  }

  #flip() {
    if (this.hasWrongJson) return;
    this.isJson = !this.isJson;
    this.toggle.setAttribute('aria-pressed', String(this.isJson));
    this.json.value = JSON.stringify(this.values, null, 2);
    this.wrong.textContent = '';
    if (!this.isJson) this.#drawFields();
    fill(this.element, this.isJson ? this.json : this.fields, this.wrong);
  }

  #readJson() {
    try {
      const values = JSON.parse(this.json.value || '{}');
      if (values === null || typeof values !== 'object' || Array.isArray(values))
        throw new Error('arguments are an object: {"name": value}');
      this.values = values;
      this.wrong.textContent = '';
    } catch (error) {
      this.wrong.textContent = `This is not yet valid JSON: ${error.message}`;
    }
  }

  #set(name, value) {
    if (value === undefined) delete this.values[name];
    else this.values[name] = value;
    this.problems.delete(name);
  }

  #drawFields() {
    const names = this.#names();
    fill(this.fields, names.length ? names.map((name) => this.#field(name)) : h('p.muted', 'This tool takes no arguments.'));
  }

  #field(name) {
    const schema = this.schema.properties?.[name] ?? {};
    const isRequired = this.schema.required?.includes(name);
    const id = uniqueId('field');
    const notes = [
      schema.description,
      schema.default !== undefined && !/default/i.test(schema.description) && `Default: ${JSON.stringify(schema.default)}.`,
      bounds(schema),
    ]
      .filter(Boolean)
      .join(' ');
    const attributes = {
      id,
      'aria-describedby': `${id}-note`,
      'aria-required': isRequired ? 'true' : null,
      'aria-invalid': this.problems.has(name) ? 'true' : null,
      placeholder: schema.default === undefined ? 'not set' : String(schema.default),
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
        'div',
        { class: 'field' },
        this.#editor(name, schema, attributes),
        h('small', { id: `${id}-note` }, notes),
        this.problems.has(name) && h('span.problem', { role: 'alert' }, this.problems.get(name)),
      ),
    ];
  }

  #editor(name, schema, attributes) {
    const value = this.values[name];
    if (schema.enum?.every((each) => typeof each === 'string'))
      return schema.enum.length <= 4 ? this.#radios(name, schema, attributes) : this.#select(name, schema, attributes);
    if (schema.type === 'boolean') return this.#radios(name, { ...schema, enum: [true, false] }, attributes);
    const fits = value === undefined || typeof value === (schema.type === 'integer' ? 'number' : schema.type);
    if (['integer', 'number'].includes(schema.type) && fits) return this.#number(name, schema, attributes);
    if (schema.type === 'string' && fits) return this.#text(name, schema, attributes);
    const isTexts = schema.type === 'array' && schema.items?.type === 'string' && (value ?? []).every?.((each) => typeof each === 'string');
    return isTexts ? this.#chips(name, attributes) : this.#raw(name, attributes);
  }

  #radios(name, schema, { id }) {
    const options = [undefined, ...schema.enum];
    return h(
      'div.choices',
      { role: 'radiogroup', 'aria-labelledby': `${id}-label` },
      options.map((option) =>
        h(
          'label',
          h('input', { type: 'radio', name: id, checked: this.values[name] === option, onchange: () => this.#set(name, option) }),
          option === undefined ? 'not set' : String(option),
        ),
      ),
    );
  }

  #select(name, schema, attributes) {
    return h(
      'select',
      { ...attributes, onchange: (event) => this.#set(name, event.target.value || undefined) },
      h('option', { value: '' }, 'not set'),
      schema.enum.map((option) => h('option', { value: option, selected: this.values[name] === option }, option)),
    );
  }

  #number(name, schema, attributes) {
    return h('input', {
      ...attributes,
      type: 'number',
      min: schema.minimum,
      max: schema.maximum,
      step: schema.type === 'integer' ? 1 : 'any',
      value: this.values[name] ?? '',
      oninput: (event) => this.#set(name, event.target.value === '' ? undefined : Number(event.target.value)),
    });
  }

  /** Empty text differs from no value: a button takes the value away. */
  #text(name, schema, attributes) {
    const unset = h(
      'button',
      {
        class: 'link',
        hidden: this.values[name] !== '',
        onclick: () => {
          this.#set(name, undefined);
          unset.hidden = true;
        },
      },
      'Empty text is sent. Do not send it',
    );
    const oninput = (event) => {
      this.#set(name, event.target.value);
      unset.hidden = event.target.value !== '';
    };
    const value = this.values[name] ?? '';
    return [
      LONG.test(name) || value.includes('\n')
        ? h('textarea', { ...attributes, rows: 4, class: 'mono', oninput, value })
        : h('input', { ...attributes, type: 'text', class: 'mono', oninput, value }),
      unset,
    ];
  }

  #chips(name, attributes) {
    const list = h('div.chips');
    const draw = () =>
      fill(
        list,
        (this.values[name] ?? []).map((text, index) =>
          h(
            'span.chip',
            text || '(empty)',
            h('button', { 'aria-label': `Remove ${text}`, onclick: () => change(this.values[name].filter((_, at) => at !== index)) }, '×'),
          ),
        ),
      );
    const change = (texts) => {
      this.#set(name, texts.length ? texts : undefined);
      draw();
    };
    const add = () => {
      if (input.value) {
        change([...(this.values[name] ?? []), input.value]);
        input.value = '';
      }
    };
    const input = h('input', {
      ...attributes,
      type: 'text',
      placeholder: 'Type and press Enter',
      onchange: add,
      onkeydown: (event) => {
        if (event.key === 'Enter') {
          event.preventDefault();
          add();
        }
      },
    });
    draw();
    return [list, input];
  }

  #raw(name, attributes) {
    const wrong = h('span.problem');
    const read = (event) => {
      try {
        this.#set(name, event.target.value === '' ? undefined : JSON.parse(event.target.value));
        wrong.textContent = '';
      } catch (error) {
        wrong.textContent = `This field is JSON: ${error.message}`;
      }
    };
    const value = this.values[name];
    return [
      h('textarea', {
        ...attributes,
        rows: 3,
        class: 'mono',
        placeholder: 'JSON',
        oninput: read,
        value: value === undefined ? '' : JSON.stringify(value, null, 2),
      }),
      wrong,
    ];
  }
}

function bounds({ minimum, maximum }) {
  if (minimum === undefined) return maximum === undefined ? '' : `At most ${maximum}.`;
  return maximum === undefined ? `At least ${minimum}.` : `${minimum} to ${maximum}.`;
}
