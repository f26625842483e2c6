// Builds elements. Text is always set as text; only `insertRendered` takes HTML, and only the server's.

const SVG = 'http://www.w3.org/2000/svg';

/** Makes an element: `h('button.primary', { onclick: send }, 'Send')`. The attributes may be left out; `label` is for a screen reader. */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  if (rest[0]?.constructor === Object) setAttributes(element, rest.shift());
  return append(element, rest);
}

/** Makes an SVG element. */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  // In a picture there are no marks.
  return append(element, children.flat(Infinity).map((child) => (child?.nodeType || !child ? child : visibleText(child))));
}

/** What is set as a property, since it has no attribute that follows it, or is one of ARIA: `ariaLive`. */
const PROPERTY = /^(aria[A-Z]|value|checked|indeterminate|selected)/;
/** What is shown or read out. */
const SHOWN = /^(title|alt|placeholder)$/;

function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'label') element.ariaLabel = visibleText(value);
    else if (PROPERTY.test(name)) element[name] = value;
    else if (value === false) continue;
    else if (name === 'class') element.classList.add(...value.split(/\s+/).filter(Boolean));
    else element.setAttribute(name, value === true ? '' : SHOWN.test(name) ? visibleText(value) : value);
  }
}

/** Text shows its hidden characters, wherever it comes from. */
export function append(element, children) {
  const given = children.flat(Infinity).filter((child) => child != null && child !== false);
  element.append(...given.flatMap((child) => (child.nodeType ? child : visible(child, JOINERS))));
  return element;
}

/** Replaces all children. */
export function fill(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

export const inRow = (...content) => h('div.row', ...content);
export const inStack = (...content) => h('div.stack', ...content);
/** A sentence that is less important. */
export const muted = (...content) => h('p.muted', ...content);
export const mono = (...content) => h('code', ...content);
export const small = (...content) => h('small', ...content);

export const checkbox = (attributes) => h('input', { type: 'checkbox', ...attributes });
/** What the user should know before anything else here. */
export const warning = (text) => h('p.call-error.ask', `! ${text}`);

/** The browser does not do what it would at this event. */
export const prevent = (event) => event.preventDefault();

/** Sets the text only if it differs, so that a screen reader does not repeat it. */
export function setText(element, text) {
  const shown = visibleText(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** Inserts HTML that the server rendered and sanitised (a value of a field whose name ends in `_html`). */
export function insertRendered(element, html) {
  const template = document.createElement('template');
  template.innerHTML = html ?? '';
  for (const link of template.content.querySelectorAll('a[href]')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
  }
  element.replaceChildren(template.content);
  return element;
}

/** HTML of the server in an element of its own. */
export const rendered = (html, attributes) => insertRendered(h('div.rendered.scroll', attributes ?? {}), html);

/** A diff or the like, which keys can scroll. */
export const renderedRegion = (html, label = 'Diff') => rendered(html, { tabindex: 0, role: 'region', label });

/** The output of a tool. */
export const renderedOutput = (html) => insertRendered(h('div.output.rendered', { tabindex: 0 }), html);

/** What hides or reorders text, or is no character of it. */
const HIDDEN = /((?![\t\n])[\p{DI}\p{Cc}\u2028\u2029\u2800\ufff9-\ufffb])/gu;

/** What joins letters and emoji. It stays in texts by which nothing is decided. */
const JOINERS = /[\u200c\u200d\ufe0e\ufe0f]/;

/** Text with its hidden and reordering characters, but those that `kept` matches, as marks: `a⟨U+202E⟩b`. */
export function visible(text, kept) {
  // Every other part is one of them.
  const parts = String(text).split(HIDDEN);
  return parts.map((part, at) => (at % 2 && !kept?.test(part) ? h('mark.hidden-char', codePoint(part)) : part));
}

/** Plain text with its hidden and reordering characters, but not what joins, as `⟨U+202E⟩`. */
export function visibleText(text) {
  return String(text).replace(HIDDEN, (part) => (JOINERS.test(part) ? part : codePoint(part)));
}

function codePoint(character) {
  return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/** Draws the inside of an element again; the focus stays on what has the same name. */
export function keepFocus(element, draw) {
  const name = element.contains(document.activeElement) && nameOf(document.activeElement);
  draw();
  if (name) [...element.querySelectorAll('a, button, input, select, textarea, [tabindex]')].find((each) => nameOf(each) === name)?.focus();
}

const nameOf = (element) => element.dataset.focus ?? element.ariaLabel ?? (element.textContent || element.value);

/** A function that calls `run` when it was not called again for a while; `stop` of it forgets the call. */
export function later(run, milliseconds = 200) {
  let timer = 0;
  const call = () => {
    clearTimeout(timer);
    timer = setTimeout(run, milliseconds);
  };
  call.stop = () => clearTimeout(timer);
  return call;
}

let lastId = 0;

/** An id for `aria-labelledby` and the like. */
export function uniqueId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}
