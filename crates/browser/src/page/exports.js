// What this program calls.

globalThis.haft = {
  watchDrag, hasDragBegun, snapshot, point, focus, prepareField, fieldValue, select, until, box, selectedBox, label, unlabel, pageSize,
  hostAt, openRoot,
  element: elementOf,
  selected: (selector) => find(selector) ?? fail("missing", selector),
  numberOf: (selector) => numberOf(find(selector) ?? fail("missing", selector)),
  words: (number) => words(elementOf(number)),
  isOption: (number) => elementOf(number).localName === "option",
  isFileField: (number) => elementOf(number).localName === "input" && elementOf(number).type === "file",
  state: () => ({ url: location.href, title: clean(document.title, LONGEST_NAME), ready: document.readyState }),
};
