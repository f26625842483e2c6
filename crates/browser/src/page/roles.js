// The role of an element.

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
