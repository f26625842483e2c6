// Points, fields, lists and drags.

const frame = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, 100);
  requestAnimationFrame(() => { clearTimeout(timer); resolve(); });
});

const hit = (x, y) => {
  let found = document.elementFromPoint(x, y);
  while (found && rootOf(found)) {
    const inner = rootOf(found).elementFromPoint(x, y);
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

let drag = null;
const watchDrag = () => {
  const watched = { event: null };
  drag = watched;
  addEventListener("dragstart", (event) => { watched.event = event; }, { capture: true, once: true });
  return true;
};
const hasDragBegun = () => Boolean(drag?.event && !drag.event.defaultPrevented);
