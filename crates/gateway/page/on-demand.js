// Parts that are loaded when they are used first, so that the page itself stays small.

const call =
  (file, name) =>
  async (...values) =>
    (await import(file))[name](...values);

export const openHelp = call('./elements/help.js', 'openHelp');
export const openPalette = call('./elements/palette.js', 'openPalette');
export const openUndo = call('./elements/undo.js', 'openUndo');
export const welcome = call('./elements/welcome.js', 'welcome');
export const canvasPanel = call('./elements/canvas.js', 'canvasPanel');
export const chatPanel = call('./elements/chat-panel.js', 'chatPanel');
export const openOutput = call('./elements/full-output.js', 'openOutput');
export const accessMenu = call('./elements/access.js', 'accessMenu');
export const openReview = call('./elements/server-review.js', 'openReview');
export const modelMenu = call('./elements/models.js', 'modelMenu');
export const openChange = call('./elements/change.js', 'openChange');
