// Runs in the frame of the canvas: answers the page, and draws A2UI 0.8. Text is always set as text.
(() => {
  'use strict';
  const MOST_NODES = 3000;
  const DEEPEST = 40;
  const MOST_TEXT = 65536;
  // Taken before anything else runs here: a script of the agent can change what it finds, and not what was taken.
  const page = parent;
  const { apply } = Reflect;
  const { addEventListener: listen } = EventTarget.prototype;
  const on = (target, name, run) => apply(listen, target, [name, run]);
  /** Known to the page and to this script: what the user does in an interface carries it, so that no other script can pretend it. */
  let token = null;
  const tell = (message) => page.postMessage({ haft: true, ...message }, '*');
  const surfaces = new Map();

  // ---- Values -------------------------------------------------------------------------------------------------------------------------
  const steps = (path) => String(path).split('/').filter(Boolean);
  const own = (value, key) => (value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? value[key] : undefined);
  const read = (data, path) => steps(path).reduce(own, data);
  const absolute = (path, scope) => (String(path).startsWith('/') ? path : `${scope}/${path}`);

  function write(data, path, value) {
    const names = steps(path);
    const last = names.pop();
    if (last === undefined || last === '__proto__') return;
    let at = data;
    for (const name of names) {
      if (name === '__proto__') return;
      const next = own(at, name);
      at = next !== null && typeof next === 'object' ? next : (at[name] = {});
    }
    at[last] = value;
  }

  /** `{"literalString": "x"}` or `{"path": "/x"}`. */
  function valueOf(bound, surface, scope) {
    if (bound === null || typeof bound !== 'object') return bound;
    if (bound.path !== undefined) {
      const found = read(surface.data, absolute(bound.path, scope));
      if (found !== undefined) return found;
    }
    return bound.literalString ?? bound.literalNumber ?? bound.literalBoolean ?? bound.literalArray;
  }

  function entry(content) {
    if (Array.isArray(content.valueMap)) return Object.fromEntries(content.valueMap.map((one) => [one.key, entry(one)]));
    return content.valueString ?? content.valueNumber ?? content.valueBoolean ?? content.valueArray ?? null;
  }

  // ---- Components ---------------------------------------------------------------------------------------------------------------------
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = String(text);
    return element;
  };
  const HEADINGS = new Set(['h1', 'h2', 'h3', 'h4', 'h5']);

  /** A field whose value goes to the data of the surface. */
  function field(label, input, bound, drawing, readValue, name = 'change') {
    const box = make('label');
    if (label !== undefined) box.append(make('span', '', label));
    box.append(input);
    on(input, name, () => bound?.path && write(drawing.surface.data, absolute(bound.path, drawing.scope), readValue(input)));
    return box;
  }

  const KINDS = {
    Text(p, d) {
      const hint = HEADINGS.has(p.usageHint) ? p.usageHint : 'p';
      return make(hint, p.usageHint === 'caption' ? 'caption' : '', d.value(p.text) ?? '');
    },
    Image(p, d) {
      const image = make('img');
      const url = String(d.value(p.url) ?? '');
      if (/^data:image\/(png|jpeg|gif|webp)[;,]/.test(url)) image.src = url;
      image.alt = String(d.value(p.altText) ?? '');
      return image;
    },
    Row: (p, d) => d.children(make('div', 'row'), p.children),
    Column: (p, d) => d.children(make('div', 'column'), p.children),
    List: (p, d) => d.children(make('div', p.direction === 'horizontal' ? 'row' : 'list'), p.children),
    Card: (p, d) => d.children(make('div', 'card'), { explicitList: [p.child] }),
    Divider: () => make('hr'),
    Button(p, d) {
      const button = d.children(make('button'), { explicitList: [p.child] });
      button.type = 'button';
      on(button, 'click', (event) => event.isTrusted && d.act(p.action));
      return button;
    },
    TextField(p, d) {
      const input = make(p.textFieldType === 'longText' ? 'textarea' : 'input');
      if (p.textFieldType === 'obscured') input.type = 'password';
      if (p.textFieldType === 'number') input.type = 'number';
      input.value = String(d.value(p.text) ?? '');
      return field(d.value(p.label), input, p.text, d, (from) => from.value, 'input');
    },
    CheckBox(p, d) {
      const input = make('input');
      input.type = 'checkbox';
      input.checked = Boolean(d.value(p.value));
      return field(d.value(p.label), input, p.value, d, (from) => from.checked);
    },
    Slider(p, d) {
      const input = make('input');
      input.type = 'range';
      input.min = String(Number(p.minValue ?? 0));
      input.max = String(Number(p.maxValue ?? 100));
      input.value = String(Number(d.value(p.value) ?? 0));
      return field(d.value(p.label), input, p.value, d, (from) => Number(from.value));
    },
    DateTimeInput(p, d) {
      const input = make('input');
      input.type = p.enableTime ? (p.enableDate === false ? 'time' : 'datetime-local') : 'date';
      input.value = String(d.value(p.value) ?? '');
      return field(d.value(p.label), input, p.value, d, (from) => from.value);
    },
    MultipleChoice(p, d) {
      const input = make('select');
      input.multiple = Number(p.maxAllowedSelections ?? 1) !== 1;
      const chosen = [d.value(p.selections) ?? []].flat().map(String);
      for (const option of (Array.isArray(p.options) ? p.options : []).slice(0, 200)) {
        const item = make('option', '', d.value(option?.label) ?? option?.value);
        item.value = String(option?.value);
        item.selected = chosen.includes(item.value);
        input.append(item);
      }
      return field(d.value(p.label), input, p.selections, d, (from) => [...from.selectedOptions].map((one) => one.value));
    },
  };

  class Drawing {
    constructor(surface, id, scope, count, depth, above) {
      Object.assign(this, { surface, id, scope, count, depth, above });
    }
    value(bound) {
      return valueOf(bound, this.surface, this.scope);
    }
    children(element, children) {
      const template = children?.template;
      if (template) {
        const path = absolute(template.dataBinding, this.scope);
        for (const key of Object.keys(read(this.surface.data, path) ?? {}).slice(0, 200))
          this.add(element, template.componentId, `${path}/${key}`);
      }
      for (const id of Array.isArray(children?.explicitList) ? children.explicitList : []) this.add(element, id, this.scope);
      return element;
    }
    /** A component that contains itself, too many and too deep ones are left out. */
    add(element, id, scope) {
      const component = this.surface.components.get(id);
      this.count.nodes += 1;
      if (!component || this.above.includes(id) || this.depth > DEEPEST || this.count.nodes > MOST_NODES) return;
      const [kind, properties] = Object.entries(component)[0] ?? [];
      if (!Object.hasOwn(KINDS, kind)) return;
      const inner = new Drawing(this.surface, id, scope, this.count, this.depth + 1, [...this.above, id]);
      element.append(KINDS[kind](properties ?? {}, inner));
    }
    act(action) {
      const context = {};
      for (const { key, value } of Array.isArray(action?.context) ? action.context : []) context[String(key)] = this.value(value) ?? null;
      tell({ kind: 'action', token, name: String(action?.name ?? ''), surface: this.surface.id, component: this.id, context });
    }
  }

  function draw() {
    const bodies = [...surfaces.values()].filter((surface) => surface.root !== undefined).map((surface) => {
      const box = make('section');
      new Drawing(surface, '', '', { nodes: 0 }, 0, []).add(box, surface.root, '');
      return box;
    });
    document.body.replaceChildren(...bodies);
  }

  const surfaceOf = (id) => {
    if (!surfaces.has(id)) surfaces.set(id, { id, components: new Map(), data: {}, root: undefined });
    return surfaces.get(id);
  };

  function push(message) {
    const [kind, content] = Object.entries(message)[0] ?? [];
    if (kind === 'deleteSurface') return surfaces.delete(content.surfaceId);
    const surface = surfaceOf(content?.surfaceId);
    if (kind === 'surfaceUpdate') for (const { id, component } of content.components ?? []) surface.components.set(id, component);
    if (kind === 'beginRendering') surface.root = content.root;
    if (kind === 'dataModelUpdate')
      for (const one of Array.isArray(content.contents) ? content.contents : []) write(surface.data, `${content.path ?? ''}/${one.key}`, entry(one));
    return undefined;
  }

  // ---- A picture of what is shown -----------------------------------------------------------------------------------------------------
  /** Draws backgrounds, borders, pictures and texts where the layout has them. */
  function snapshot({ mime, max_width: most, quality }) {
    const [width, height] = [document.documentElement.clientWidth, Math.min(document.documentElement.scrollHeight, 4000)];
    if (!width || !height) return { missing: 'the frame has no size: it is not visible' };
    const scale = Math.min(1, most / width);
    const paper = make('canvas');
    [paper.width, paper.height] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
    const pen = paper.getContext('2d');
    pen.scale(scale, scale);
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    pen.fillStyle = isDark ? '#121212' : '#fff';
    pen.fillRect(0, 0, width, height);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = document.body, number = 0; node && number < 5000; node = walker.nextNode(), number += 1) {
      if (node instanceof Element) box(pen, node);
      else words(pen, node);
    }
    return { mime, data: paper.toDataURL(mime, quality / 100).split(',')[1] ?? '' };
  }

  function box(pen, element) {
    const style = getComputedStyle(element);
    const { left, top, width, height } = element.getBoundingClientRect();
    if (style.visibility === 'hidden' || !width || !height) return;
    const [x, y] = [left + scrollX, top + scrollY];
    pen.fillStyle = style.backgroundColor;
    pen.fillRect(x, y, width, height);
    const line = parseFloat(style.borderTopWidth);
    if (line && style.borderTopStyle !== 'none') {
      pen.strokeStyle = style.borderTopColor;
      pen.lineWidth = line;
      pen.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
    }
    if (element instanceof HTMLImageElement && element.complete && element.naturalWidth) pen.drawImage(element, x, y, width, height);
    if ('value' in element && typeof element.value === 'string' && element.type !== 'password') text(pen, style, element.value, x + 4, y, height);
  }

  /** Word by word, so that each is on its line. */
  function words(pen, node) {
    if (!node.data.trim() || !node.parentElement || ['SCRIPT', 'STYLE', 'OPTION'].includes(node.parentElement.tagName)) return;
    const style = getComputedStyle(node.parentElement);
    const range = document.createRange();
    for (const word of [...node.data.matchAll(/\S+/g)].slice(0, 2000)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const { left, top, height } = range.getBoundingClientRect();
      text(pen, style, word[0], left + scrollX, top + scrollY, height);
    }
  }

  function text(pen, style, content, x, y, height) {
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    pen.fillStyle = style.color;
    pen.textBaseline = 'middle';
    pen.fillText(content, x, y + height / 2);
  }

  // ---- What the page asks -------------------------------------------------------------------------------------------------------------
  function shown(value) {
    let result;
    try {
      result = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
    } catch {
      result = String(value);
    }
    return result.length > MOST_TEXT ? `${result.slice(0, MOST_TEXT)}… (cut)` : result;
  }

  const OPERATIONS = {
    init: async (message) => {
      token ??= message.token;
      return {};
    },
    eval: async ({ code }) => ({ value: shown(await (0, eval)(code)) }),
    snapshot: async (options) => snapshot(options),
    push: async ({ messages }) => {
      messages.forEach(push);
      draw();
      return {};
    },
    reset: async () => {
      surfaces.clear();
      draw();
      return {};
    },
  };

  on(globalThis, 'message', async (event) => {
    if (event.source !== page || !Object.hasOwn(OPERATIONS, event.data?.op)) return;
    let answer;
    try {
      answer = await OPERATIONS[event.data.op](event.data);
    } catch (error) {
      answer = { error: shown(error?.message ?? error).slice(0, 2000) };
    }
    tell({ kind: 'answer', request: event.data.request, answer });
  });
  /** For documents that the user lets send messages. */
  globalThis.haft = { action: (name, context) => tell({ kind: 'action', name: String(name), surface: '', component: '', context: context ?? {} }) };
  on(document, 'DOMContentLoaded', () => tell({ kind: 'ready' }));
})();
