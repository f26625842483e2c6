// Boxes of elements, and refs drawn onto the page.

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
