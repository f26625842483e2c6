// Parts that are loaded when they are used first, so that the page itself stays small. Each is the default of its file.

import { pathTo, sessionPath } from './api.js';

const call =
  (name) =>
  async (...values) =>
    (await import(`./elements/${name}.js`)).default(...values);

export const openHelp = call('help');
export const openPalette = call('palette');
export const openUndo = call('undo');
/** Undoes one call of the history. */
export const undoCall = ({ record, tool }, what = `the call of ${tool}`) => openUndo(pathTo('history', record, '/undo'), what);
export const undoSession = (id) => openUndo(sessionPath(id, '/undo'), 'all changes of this session');
export const welcome = call('welcome');
export const canvasPanel = call('canvas');
export const chatPanel = call('chat-panel');
export const openOutput = call('full-output');
export const accessMenu = call('access');
export const openReview = call('server-review');
export const modelMenu = call('models');
export const openChange = call('change');
