// The page as a tree of roles, names and texts.

let budget = 0;

const childNodes = (element, tag) => {
  const root = rootOf(element);
  if (root) return root.childNodes;
  noteHost(element, tag);
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
