// A change of the user's configuration: looked at as a diff, then saved.

import { api, h, mono, muted, renderedRegion, sessionPath, store, toast, waitDialog } from '../core.js';

/** `edits` as the advice of the server has them; `call` is what they are about. */
export default function openChange(edits, { saved = () => {}, call } = {}) {
  waitDialog(
    'Change the configuration',
    'Save',
    () => api.post('/api/settings/preview', { edits }),
    ({ file, changed, diff, diff_html: html, problems }) => ({
      isPossible: changed,
      nodes: [
        h('p', 'In ', mono(file), ':'),
        diff ? renderedRegion(html) : h('p', 'This is there already: another file or a flag decides.'),
        problems.map((each) => muted(`! ${each.message}`)),
      ],
    }),
    async () => {
      const done = await api.put('/api/settings', { edits });
      toast('Saved. It holds from the next message on.', { kind: 'ok', action: [call && askAgain(call), undoSave(done)] });
      saved();
    },
  );
}

/** Takes a save of the configuration back, as an action of a message. */
export const undoSave = ({ undo }, after) => undo && { label: 'Undo', run: () => api.post('/api/settings/undo', { undo }).then(after) };

/** Sends the message again that led to a call. */
function askAgain({ id, session }) {
  const transcript = store.transcripts.get(session);
  const items = transcript?.items ?? [];
  const message = items.slice(0, items.indexOf(transcript?.callItem(id)) + 1).findLast((item) => item.type === 'user');
  const run = () => api.post(sessionPath(session, '/messages'), { text: message.text });
  return message && store.can('chat') && { label: 'Ask again', run };
}
