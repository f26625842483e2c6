// The tree, written down.

const writer = (options) => {
  const lines = [];
  const frames = [];
  let characters = 0;
  let count = 0;
  let left = 0;
  const hasRef = (node) => options.all || node.acts || SHOWN_WITH_REF.has(node.role);
  const put = (indent, text) => {
    if (characters > options.chars || count >= options.limit) {
      left++;
      return false;
    }
    count++;
    characters += text.length + indent * 2 + 1;
    lines.push("  ".repeat(indent) + text);
    return true;
  };
  const head = (node) => {
    let line = `- ${node.role}`;
    if (node.name) line += ` ${JSON.stringify(node.name)}`;
    if (hasRef(node)) line += ` [ref=${options.prefix}e${numberOf(node.element)}]`;
    line += node.marks;
    if (node.link && options.links) {
      const link = node.link.startsWith(location.origin + "/") ? node.link.slice(location.origin.length) : node.link;
      line += ` [url=${link.length > 200 ? link.slice(0, 200) + "…" : link}]`;
    }
    return line;
  };
  const write = (item, indent) => {
    if (typeof item === "string") {
      if (!options.interactive) put(indent, item.startsWith("\u0000") ? `- text [hidden]: ${item.slice(1)}` : `- text: ${item}`);
      return;
    }
    const isShown = options.interactive ? item.acts || item.role === "iframe" : !(options.compact && !item.name && !item.acts && !item.value && !SHOWN_WITH_REF.has(item.role));
    const inner = isShown && !options.interactive ? indent + 1 : indent;
    if (isShown) {
      let line = head(item);
      const [only] = item.children;
      let rest = item.children;
      if (item.value) line += `: ${item.value}`;
      else if (!options.interactive && item.children.length === 1 && typeof only === "string" && !only.startsWith("\u0000")) {
        line += `: ${only}`;
        rest = [];
      }
      if (!put(indent, line)) return;
      if (item.role === "iframe") frames.push({ line: lines.length, indent: inner, number: numberOf(item.element) });
      if (item.element.localName === "select" && options.interactive) rest = item.children;
      if (inner < options.depth) rest.forEach((child) => write(child, inner));
      else if (rest.length) left += rest.length;
      return;
    }
    item.children.forEach((child) => write(child, inner));
  };
  return { write, result: () => ({ lines, frames, count, left }) };
};

const build = (root, chars) => {
  budget = chars;
  unseen = 0;
  hosts = [];
  const out = [];
  const style = getComputedStyle(document.documentElement);
  const own = channels(style.backgroundColor);
  const context = { background: own.alpha > 0.5 ? own.rgb : [255, 255, 255], silent: false, unseen: false, pointer: false };
  visit(root, context, out);
  return out;
};

const snapshot = (options) => {
  if (next < options.base) next = options.base;
  let root = document.body ?? document.documentElement;
  if (options.selector) {
    root = find(options.selector) ?? fail("missing", options.selector);
  }
  if (!root) return { lines: [], frames: [], count: 0, left: 0, truncated: false, unseen: 0, hosts: 0, next, title: document.title, url: location.href };
  // Text that is left out by the options costs nothing in the result, so more of it is looked at.
  const tree = build(root, options.chars * (options.interactive || options.compact ? 40 : 3) + 10_000);
  const out = writer(options);
  tree.forEach((item) => out.write(item, 0));
  const truncated = budget <= 0;
  return { ...out.result(), truncated, unseen, hosts: hosts.length, next, title: clean(document.title, LONGEST_NAME), url: location.href };
};

const find = (selector) => {
  try {
    return document.querySelector(selector);
  } catch (error) {
    return fail("selector", selector);
  }
};
