// A preview of an undo, then the undo.

import { api, badge, checkbox, h, mono, rendered, toast, waitDialog } from '../core.js';

const ACTIONS = { restore: 'put back as it was', delete: 'removed: it did not exist before', create: 'created again', none: 'as it is' };

/** `path` is the address of the preview and of the command. */
export default function openUndo(path, what) {
  const force = checkbox();
  waitDialog(
    `Undo ${what}`,
    'Undo',
    () => api.get(path),
    ({ files, irreversible }) => ({
      isPossible: files.length > 0,
      nodes: [
        files.length === 0 && h('p', 'There is nothing to put back.'),
        files.map((file) =>
          h(
            'details',
            { open: files.length === 1 },
            h(
              'summary',
              mono(file.path),
              ` ${ACTIONS[file.action] ?? file.action}`,
              file.conflict && badge(`! ${file.conflict}`, 'ask'),
            ),
            file.diff_html && rendered(file.diff_html),
          ),
        ),
        irreversible?.length > 0 && h('div.call-error.ask', h('strong', 'Cannot be put back: '), irreversible.join('; ')),
        files.some((file) => file.conflict) && h('label.check', force, 'Undo although files changed since'),
      ],
    }),
    async () => {
      const { restored, skipped } = await api.post(path, { force: force.checked });
      const left = skipped?.length ? ` ${skipped.length} left as they are: ${skipped[0].reason}` : '';
      toast(`Undone: ${restored.length} files put back.${left}`, { kind: 'ok' });
    },
  );
}
