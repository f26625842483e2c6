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
  return append(element, children);
}

/** What is set as a property, since it has no attribute that follows it, or is one of ARIA: `ariaLive`. */
const PROPERTY = /^(aria[A-Z]|value|checked|indeterminate|selected)/;

function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'label') element.ariaLabel = value;
    else if (PROPERTY.test(name)) element[name] = value;
    else if (value === false) continue;
    else if (name === 'class') element.classList.add(...value.split(/\s+/).filter(Boolean));
    else element.setAttribute(name, value === true ? '' : value);
  }
}

export function append(element, children) {
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
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
  if (element.textContent !== text) element.textContent = text;
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

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|\udb40[\udc00-\udfff]/g;

/** Text with its hidden and reordering characters as marks: `a⟨U+202E⟩b`. */
export function visible(text) {
  const nodes = [];
  let end = 0;
  for (const match of String(text).matchAll(HIDDEN)) {
    nodes.push(text.slice(end, match.index), h('mark.hidden-char', codePoint(match[0])));
    end = match.index + match[0].length;
  }
  nodes.push(String(text).slice(end));
  return nodes;
}

/** The same as plain text, for attributes and announcements. */
export function visibleText(text) {
  return String(text).replace(HIDDEN, codePoint);
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
