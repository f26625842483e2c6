// Names and texts, without characters that are never seen.

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
