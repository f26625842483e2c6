// Runs in an isolated world of every frame: it shares the document with the page, and no variable. The page can neither see nor
// change it. Elements keep the number that they got first, as long as they live.
(() => {
  if (globalThis.haft) return;

  const numbers = new WeakMap();
  const elements = new Map();
  const gone = new FinalizationRegistry((number) => elements.delete(number));
  let next = 1;

  const numberOf = (element) => {
    let number = numbers.get(element);
    if (number === undefined) {
      number = next++;
      numbers.set(element, number);
      elements.set(number, new WeakRef(element));
      gone.register(element, number);
    }
    return number;
  };

  const fail = (kind, message) => {
    throw new Error(`haft:${kind}:${message}`);
  };

  const elementOf = (number) => {
    const element = elements.get(number)?.deref();
    if (!element || !element.isConnected) fail("stale", "");
    return element;
  };

  // ── roles ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  const INPUT_ROLES = {
    button: "button", submit: "button", reset: "button", image: "button", file: "button", color: "button",
    checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox",
  };
  const TAG_ROLES = {
    button: "button", summary: "button", textarea: "textbox", option: "option", optgroup: "group", h1: "heading", h2: "heading",
    h3: "heading", h4: "heading", h5: "heading", h6: "heading", ul: "list", ol: "list", menu: "list", li: "listitem", dl: "list",
    dt: "term", dd: "definition", table: "table", tr: "row", td: "cell", thead: "rowgroup", tbody: "rowgroup", tfoot: "rowgroup",
    caption: "caption", nav: "navigation", main: "main", aside: "complementary", article: "article", dialog: "dialog",
    details: "group", fieldset: "group", progress: "progressbar", meter: "meter", output: "status", iframe: "iframe", frame: "iframe",
    p: "paragraph", hr: "separator", canvas: "canvas", video: "video", audio: "audio", svg: "img", blockquote: "blockquote",
    figure: "figure", search: "search", math: "math",
  };
  const INTERACTIVE = new Set([
    "button", "link", "textbox", "searchbox", "checkbox", "radio", "switch", "combobox", "listbox", "option", "slider", "spinbutton",
    "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "treeitem", "gridcell",
  ]);
  const NAMED_BY_CONTENT = new Set([
    "button", "link", "heading", "option", "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "treeitem", "checkbox", "radio",
    "switch", "tooltip", "cell", "columnheader", "rowheader", "gridcell", "term", "caption", "status",
  ]);
  const SHOWN_WITH_REF = new Set(["img", "canvas", "video", "audio", "iframe", "dialog", "alertdialog"]);
  const SKIPPED = new Set(["script", "style", "noscript", "template", "head", "meta", "link", "title", "base", "datalist", "br", "wbr", "source", "track", "param"]);

  const roleOf = (element, tag) => {
    const explicit = element.getAttribute("role")?.trim().split(/\s+/)[0];
    if (explicit) return explicit === "none" || explicit === "presentation" ? "" : explicit.toLowerCase();
    switch (tag) {
      case "a": case "area": return element.hasAttribute("href") ? "link" : "";
      case "input": {
        const type = element.type;
        if (type === "hidden") return "";
        if (INPUT_ROLES[type]) return INPUT_ROLES[type];
        return element.hasAttribute("list") ? "combobox" : "textbox";
      }
      case "select": return element.multiple || element.size > 1 ? "listbox" : "combobox";
      case "img": return element.getAttribute("alt") === "" ? "" : "img";
      case "th": return element.scope === "row" ? "rowheader" : "columnheader";
      case "section": return element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby") ? "region" : "";
      case "form": return element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby") ? "form" : "";
      case "header": return element.closest("article,aside,main,nav,section") ? "" : "banner";
      case "footer": return element.closest("article,aside,main,nav,section") ? "" : "contentinfo";
      default:
        if (TAG_ROLES[tag]) return TAG_ROLES[tag];
        return element.isContentEditable && !element.parentElement?.isContentEditable ? "textbox" : "";
    }
  };

  // ── text ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  // What is never seen, and what turns text around: of these, models read other words than people see.
  const UNSEEN = /[\u00ad\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
  const LONGEST_TEXT = 2000;
  const LONGEST_NAME = 300;
  let unseen = 0;

  const clean = (text, longest) => {
    let plain = text.replace(UNSEEN, () => { unseen++; return ""; }).replace(/\s+/g, " ").trim();
    if (plain.length > longest) plain = plain.slice(0, longest) + "…";
    return plain;
  };

  const textOfIds = (element, ids) =>
    ids.split(/\s+/).map((id) => element.getRootNode().getElementById?.(id)?.textContent ?? "").join(" ");

  const ownName = (element, tag, role) => {
    const labelledBy = element.getAttribute("aria-labelledby");
    if (labelledBy) {
      const text = clean(textOfIds(element, labelledBy), LONGEST_NAME);
      if (text) return text;
    }
    const label = element.getAttribute("aria-label");
    if (label?.trim()) return clean(label, LONGEST_NAME);
    if (tag === "input" && (element.type === "submit" || element.type === "button" || element.type === "reset")) {
      return clean(element.value || (element.type === "submit" ? "Submit" : element.type === "reset" ? "Reset" : ""), LONGEST_NAME);
    }
    if (element.labels?.length) {
      const text = clean([...element.labels].map((label) => label.textContent).join(" "), LONGEST_NAME);
      if (text) return text;
    }
    if (tag === "img" || tag === "area" || (tag === "input" && element.type === "image")) {
      const text = element.getAttribute("alt");
      if (text?.trim()) return clean(text, LONGEST_NAME);
    }
    if (tag === "fieldset") return clean(element.querySelector(":scope > legend")?.textContent ?? "", LONGEST_NAME);
    if (tag === "svg") return clean(element.querySelector(":scope > title")?.textContent ?? "", LONGEST_NAME);
    if (tag === "iframe") return clean(element.title || element.name || "", LONGEST_NAME);
    return "";
  };

  const lastName = (element) => clean(element.getAttribute("title") || element.getAttribute("placeholder") || "", LONGEST_NAME);

  // ── what people do not see ─────────────────────────────────────────────────────────────────────────────────────────────────

  const channels = (color) => {
    const parts = color.match(/[\d.]+/g)?.map(Number) ?? [];
    return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
  };

  const isUnseen = (element, style, background) => {
    if (Number(style.opacity) < 0.05 || parseFloat(style.fontSize) < 2) return true;
    const color = channels(style.color);
    if (color.alpha < 0.05) return true;
    if (background && color.rgb.length === 3 && color.rgb.every((value, at) => Math.abs(value - background[at]) < 6)) return true;
    if (style.position !== "static" || style.textIndent.startsWith("-")) {
      const box = element.getBoundingClientRect();
      if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0 || parseFloat(style.textIndent) < -500) return true;
      if (box.width <= 1 && box.height <= 1) return true;
      if (/^(inset\((50|100)%|circle\(0|polygon\(0)/.test(style.clipPath) || style.clip === "rect(0px, 0px, 0px, 0px)") return true;
    } else if (style.overflow === "hidden" && (element.clientHeight === 0 || element.clientWidth === 0)) {
      return true;
    }
    return false;
  };

  // ── the tree ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  let budget = 0;

  const childNodes = (element, tag) => {
    if (element.shadowRoot) return element.shadowRoot.childNodes;
    if (tag === "slot") {
      const assigned = element.assignedNodes();
      return assigned.length ? assigned : element.childNodes;
    }
    return element.childNodes;
  };

  const visitChildren = (element, tag, context, out) => {
    for (const child of childNodes(element, tag)) {
      if (budget <= 0) return;
      if (child.nodeType === Node.TEXT_NODE) {
        if (context.silent) continue;
        const text = clean(child.data, LONGEST_TEXT);
        if (text) {
          budget -= text.length;
          const last = out[out.length - 1];
          if (typeof last === "string" && !context.unseen && !last.startsWith("\u0000")) out[out.length - 1] = `${last} ${text}`;
          else out.push(context.unseen ? `\u0000${text}` : text);
        }
      } else if (child.nodeType === Node.ELEMENT_NODE) {
        visit(child, context, out);
      }
    }
  };

  const visit = (element, context, out) => {
    const tag = element.localName;
    if (SKIPPED.has(tag) || element.getAttribute("aria-hidden") === "true" || element.inert) return;
    if (tag === "option" || tag === "optgroup" || tag === "slot") {
      // Options of a closed list have no box; slots never have one.
    } else if (!element.checkVisibility()) {
      if (getComputedStyle(element).display !== "contents") return;
    }
    const style = getComputedStyle(element);
    const isVisible = style.visibility === "visible";
    let background = context.background;
    const own = channels(style.backgroundColor);
    if (style.backgroundImage !== "none") background = null;
    else if (own.alpha > 0.5) background = own.rgb;
    const isPointer = style.cursor === "pointer";
    const inner = {
      background,
      silent: !isVisible,
      unseen: context.unseen || (isVisible && isUnseen(element, style, background)),
      pointer: isPointer,
    };
    const role = isVisible ? roleOf(element, tag) : "";
    const acts = isVisible && (INTERACTIVE.has(role) || element.hasAttribute("onclick") || (isPointer && !context.pointer)
      || (element.hasAttribute("tabindex") && element.tabIndex >= 0) || (tag === "label" && element.control && !element.control.checkVisibility()));
    if (!role && !acts) {
      visitChildren(element, tag, inner, out);
      return;
    }
    out.push(describe(element, tag, role || "generic", acts, inner, style));
  };

  const describe = (element, tag, role, acts, context, style) => {
    budget -= 12;
    const node = { element, role, acts, name: ownName(element, tag, role), marks: "", value: "", children: [] };
    const isField = tag === "input" || tag === "textarea";
    if (tag === "select") {
      for (const option of element.options) {
        if (budget <= 0) break;
        const text = clean(option.label || option.text, LONGEST_NAME);
        budget -= text.length + 12;
        node.children.push({ element: option, role: "option", acts: true, name: text, marks: option.selected ? " [selected]" : "", value: "", children: [] });
      }
    } else if (!isField && tag !== "iframe" && tag !== "svg") {
      visitChildren(element, tag, context, node.children);
    }
    if (!node.name && (NAMED_BY_CONTENT.has(role) || (acts && role === "generic"))) nameByContent(node);
    else if (node.name && NAMED_BY_CONTENT.has(role) && node.children.every((child) => typeof child === "string")) node.children = [];
    if (!node.name) node.name = lastName(element);
    if (context.unseen) node.marks += " [not visible]";
    addMarks(node, element, tag, role);
    return node;
  };

  /** The name of an element is its text; children that are not text alone stay. */
  const nameByContent = (node) => {
    const words = [];
    const collect = (children) => {
      for (const child of children) {
        if (typeof child === "string") words.push(child.startsWith("\u0000") ? `[hidden: ${child.slice(1)}]` : child);
        else if (child.name && !child.acts) words.push(child.name);
        else if (!child.acts) collect(child.children);
        else return false;
      }
      return true;
    };
    const isText = collect(node.children) && !node.children.some((child) => typeof child !== "string" && (child.acts || SHOWN_WITH_REF.has(child.role) && child.role !== "img"));
    if (isText) {
      node.name = clean(words.join(" "), LONGEST_NAME);
      node.children = [];
    }
  };

  const addMarks = (node, element, tag, role) => {
    const state = (name) => element.getAttribute(`aria-${name}`);
    if (role === "heading") node.marks += ` [level=${state("level") || tag[1] || 2}]`;
    if (tag === "input" && (element.type === "checkbox" || element.type === "radio") ? element.checked : state("checked") === "true") node.marks += " [checked]";
    if (element.disabled || state("disabled") === "true") node.marks += " [disabled]";
    if (tag === "summary" || tag === "details" ? element.closest("details")?.open : state("expanded") === "true") node.marks += " [expanded]";
    if (state("selected") === "true") node.marks += " [selected]";
    if (state("pressed") === "true") node.marks += " [pressed]";
    if (element.required || state("required") === "true") node.marks += " [required]";
    if (element.readOnly) node.marks += " [readonly]";
    if (state("invalid") === "true" || (element.willValidate && element.matches?.(":user-invalid"))) node.marks += " [invalid]";
    if (element === element.getRootNode().activeElement && element !== document.body) node.marks += " [focused]";
    if (tag === "input" && element.type === "password") node.value = element.value ? "•".repeat(8) : "";
    else if (tag === "input" && element.type === "file") node.value = [...element.files].map((file) => file.name).join(", ");
    else if ((tag === "input" && !["checkbox", "radio", "submit", "button", "reset", "image"].includes(element.type)) || tag === "textarea") node.value = clean(element.value, LONGEST_TEXT);
    else if (role === "slider" || role === "progressbar" || role === "meter" || role === "spinbutton") node.value = state("valuetext") || state("valuenow") || String(element.value ?? "");
    else if (role === "textbox" && element.isContentEditable) node.value = node.children.length ? "" : clean(element.textContent, LONGEST_TEXT);
    if (role === "link" && element.href) node.link = element.href;
  };

  // ── writing it down ────────────────────────────────────────────────────────────────────────────────────────────────────────

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
    if (!root) return { lines: [], frames: [], count: 0, left: 0, unseen: 0, next, title: document.title, url: location.href };
    // Text that is left out by the options costs nothing in the result, so more of it is looked at.
    const tree = build(root, options.chars * (options.interactive || options.compact ? 40 : 3) + 10_000);
    const out = writer(options);
    tree.forEach((item) => out.write(item, 0));
    const truncated = budget <= 0;
    return { ...out.result(), truncated, unseen, next, title: clean(document.title, LONGEST_NAME), url: location.href };
  };

  const find = (selector) => {
    try {
      return document.querySelector(selector);
    } catch (error) {
      return fail("selector", selector);
    }
  };

  // ── acting ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  const frame = () => new Promise((resolve) => {
    const timer = setTimeout(resolve, 100);
    requestAnimationFrame(() => { clearTimeout(timer); resolve(); });
  });

  const hit = (x, y) => {
    let found = document.elementFromPoint(x, y);
    while (found?.shadowRoot) {
      const inner = found.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === found) break;
      found = inner;
    }
    return found;
  };

  const contains = (outer, inner) => {
    for (let at = inner; at; at = at.assignedSlot ?? at.parentNode ?? at.host) if (at === outer) return true;
    return false;
  };

  const words = (element) => {
    const role = roleOf(element, element.localName) || element.localName;
    const name = clean(ownName(element, element.localName, role) || element.textContent || "", 80);
    return name ? `${role} ${JSON.stringify(name)}` : role;
  };

  const obstacle = (element, wantsEnabled) => {
    if (!element.isConnected) fail("stale", "");
    if (wantsEnabled && (element.disabled || element.closest?.("fieldset:disabled") || element.getAttribute("aria-disabled") === "true")) return "disabled";
    if (!element.checkVisibility({ visibilityProperty: true })) return "invisible";
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) return "invisible";
    return null;
  };

  /** A point of an element that gets what the mouse does there. Waits until it is visible, enabled, at rest and not covered. */
  const point = async (number, wantsEnabled, patience) => {
    const element = elementOf(number);
    const end = performance.now() + patience;
    let why;
    do {
      why = obstacle(element, wantsEnabled);
      if (!why) {
        const target = element.localName === "option" ? element.closest("select") ?? element : element;
        target.scrollIntoViewIfNeeded?.(true);
        const before = target.getBoundingClientRect();
        if (target.getAnimations?.({ subtree: false }).length || document.getAnimations().length) {
          await frame();
          const after = target.getBoundingClientRect();
          if (Math.abs(after.x - before.x) + Math.abs(after.y - before.y) > 1) why = "moving";
        }
        if (!why) {
          const found = pointIn(target);
          if (found.x !== undefined) return found;
          why = found.why;
        }
      }
      await frame();
    } while (performance.now() < end);
    return fail("blocked", why);
  };

  const pointIn = (element) => {
    const boxes = [...element.getClientRects()].filter((box) => box.width > 0 && box.height > 0);
    let covering = null;
    for (const box of boxes.length ? boxes : [element.getBoundingClientRect()]) {
      const left = Math.max(box.left, 0);
      const top = Math.max(box.top, 0);
      const right = Math.min(box.right, innerWidth);
      const bottom = Math.min(box.bottom, innerHeight);
      if (right <= left || bottom <= top) continue;
      for (const [across, down] of [[0.5, 0.5], [0.25, 0.25], [0.75, 0.75], [0.1, 0.5], [0.9, 0.5]]) {
        const [x, y] = [left + (right - left) * across, top + (bottom - top) * down];
        const found = hit(x, y);
        const isLabel = found?.closest?.("label")?.control === element;
        if (found && (contains(element, found) || isLabel || (element.localName === "iframe" && found === element))) return { x, y };
        covering ??= found;
      }
    }
    return { why: covering ? `covered:${words(covering)}` : "outside" };
  };

  const focus = (number) => {
    const element = elementOf(number);
    element.scrollIntoViewIfNeeded?.(true);
    element.focus({ preventScroll: true });
    return true;
  };

  const SET_AT_ONCE = new Set(["date", "time", "datetime-local", "month", "week", "color", "range"]);

  /** Prepares a field for new text: 'type' means that keys must follow, 'done' that it has the value. */
  const prepareField = async (number, value, patience) => {
    const element = elementOf(number);
    const end = performance.now() + patience;
    while (obstacle(element, true) || element.readOnly) {
      if (performance.now() > end) fail("blocked", element.readOnly ? "readonly" : obstacle(element, true));
      await frame();
    }
    const tag = element.localName;
    if (tag === "select") {
      select(number, [value]);
      return "done";
    }
    if (tag === "input" && (element.type === "checkbox" || element.type === "radio")) {
      const wanted = /^(true|on|yes|1|checked)$/i.test(value);
      return element.checked === wanted ? "done" : "click";
    }
    if (tag === "input" && element.type === "file") fail("field", "a field for files: use action=upload");
    element.scrollIntoViewIfNeeded?.(true);
    element.focus({ preventScroll: true });
    if (tag === "input" && SET_AT_ONCE.has(element.type)) {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(element, value);
      if (element.value === "" && value !== "") fail("field", `a field of type ${element.type}, which does not take '${value}'`);
      element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
      element.dispatchEvent(new Event("change", { bubbles: true }));
      return "done";
    }
    if (tag === "input" || tag === "textarea") {
      element.select();
      return element.value ? "replace" : "type";
    }
    if (element.isContentEditable) {
      getSelection().selectAllChildren(element);
      return element.textContent ? "replace" : "type";
    }
    const inner = element.querySelector?.("input,textarea,[contenteditable]");
    if (inner) return prepareField(numberOf(inner), value, patience);
    return fail("field", `${words(element)}, and not a field for text`);
  };

  /** The text that a field has now; `null` for what is no field. */
  const fieldValue = (number) => {
    const element = elementOf(number);
    return element.localName === "input" || element.localName === "textarea" ? element.value : element.isContentEditable ? element.innerText : null;
  };

  const select = (number, values) => {
    let element = elementOf(number);
    if (element.localName === "option") {
      values = [element.value];
      element = element.closest("select");
    }
    if (element?.localName !== "select") fail("field", `${words(element)}, and not a list of options: click it instead`);
    if (element.disabled) fail("blocked", "disabled");
    const options = [...element.options];
    const fold = (text) => text.replace(/\s+/g, " ").trim();
    const chosen = values.map((value) => {
      const found = options.find((option) => option.value === value) ?? options.find((option) => fold(option.label || option.text) === fold(value));
      if (!found) {
        const known = options.slice(0, 50).map((option) => JSON.stringify(fold(option.label || option.text))).join(", ");
        fail("option", `${JSON.stringify(value)}: the options are ${known}`);
      }
      return found;
    });
    if (chosen.length > 1 && !element.multiple) fail("option", `${values.length} values: this list takes one`);
    options.forEach((option) => { option.selected = chosen.includes(option); });
    element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return chosen.map((option) => fold(option.label || option.text));
  };

  // ── waiting ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  const matchesAddress = (wanted) => {
    if (!wanted.includes("*")) return location.href.includes(wanted);
    const pattern = wanted.split(/\*+/).map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join(".*");
    return new RegExp(`^${pattern}$`).test(location.href);
  };

  const holds = (condition) => {
    const text = () => (document.body?.innerText ?? "").replace(/\s+/g, " ");
    if (condition.text !== undefined) return text().includes(condition.text);
    if (condition.textGone !== undefined) return !text().includes(condition.textGone);
    if (condition.selector !== undefined) return find(condition.selector)?.checkVisibility({ visibilityProperty: true }) ?? false;
    if (condition.url !== undefined) return matchesAddress(condition.url);
    return true;
  };

  /** Resolves with true when the condition holds, with false when the time is up. */
  const until = (condition, patience) => new Promise((resolve, reject) => {
    let timer;
    let again;
    const observer = new MutationObserver(() => check());
    const end = (value) => {
      observer.disconnect();
      clearTimeout(timer);
      clearInterval(again);
      resolve(value);
    };
    const check = () => {
      try {
        if (holds(condition)) end(true);
      } catch (error) {
        observer.disconnect();
        clearTimeout(timer);
        clearInterval(again);
        reject(error);
      }
    };
    timer = setTimeout(() => end(false), patience);
    // Styles and addresses change without a mutation.
    again = setInterval(check, 100);
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    check();
  });

  // ── pictures ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  const box = (number) => {
    const element = elementOf(number);
    element.scrollIntoViewIfNeeded?.(true);
    return boxOf(element);
  };
  const boxOf = (element) => {
    const found = element.getBoundingClientRect();
    if (!found.width || !found.height) fail("blocked", "invisible");
    return { x: found.x, y: found.y, width: found.width, height: found.height };
  };
  const selectedBox = (selector) => {
    const element = find(selector) ?? fail("missing", selector);
    element.scrollIntoViewIfNeeded?.(true);
    return boxOf(element);
  };

  let overlay = null;
  /** Draws the refs onto the page, and returns how many. */
  const label = (prefix) => {
    unlabel();
    overlay = document.createElement("haft-labels");
    overlay.style.cssText = "position:fixed;inset:0;pointer-events:none;z-index:2147483647";
    const root = overlay.attachShadow({ mode: "closed" });
    let count = 0;
    for (const [number, reference] of elements) {
      const element = reference.deref();
      if (!element?.isConnected || count >= 200) continue;
      const found = element.getBoundingClientRect();
      if (!found.width || !found.height || found.bottom < 0 || found.right < 0 || found.top > innerHeight || found.left > innerWidth) continue;
      const border = document.createElement("div");
      border.style.cssText = `position:fixed;left:${found.left}px;top:${found.top}px;width:${found.width}px;height:${found.height}px;outline:1px solid #d00`;
      const text = document.createElement("span");
      text.textContent = `${prefix}e${number}`;
      text.style.cssText = "position:absolute;left:0;top:0;background:#d00;color:#fff;font:10px/12px monospace;padding:0 2px";
      border.append(text);
      root.append(border);
      count++;
    }
    document.documentElement.append(overlay);
    return count;
  };
  const unlabel = () => {
    overlay?.remove();
    overlay = null;
    return true;
  };

  const pageSize = () => {
    const root = document.documentElement;
    return { width: Math.max(root.scrollWidth, root.clientWidth), height: Math.max(root.scrollHeight, root.clientHeight) };
  };

  let drag = null;
  const watchDrag = () => {
    const watched = { event: null };
    drag = watched;
    addEventListener("dragstart", (event) => { watched.event = event; }, { capture: true, once: true });
    return true;
  };
  const hasDragBegun = () => Boolean(drag?.event && !drag.event.defaultPrevented);

  globalThis.haft = {
    watchDrag, hasDragBegun, snapshot, point, focus, prepareField, fieldValue, select, until, box, selectedBox, label, unlabel, pageSize,
    element: elementOf,
    selected: (selector) => find(selector) ?? fail("missing", selector),
    numberOf: (selector) => numberOf(find(selector) ?? fail("missing", selector)),
    words: (number) => words(elementOf(number)),
    isOption: (number) => elementOf(number).localName === "option",
    isFileField: (number) => elementOf(number).localName === "input" && elementOf(number).type === "file",
    state: () => ({ url: location.href, title: clean(document.title, LONGEST_NAME), ready: document.readyState }),
  };
})();
