// A preview of an undo, then the undo.

import { api } from '../api.js';
import { fill, h, insertRendered } from '../dom.js';
import { act, toast } from '../notices.js';
import { dialog } from './dialog.js';
import { problem } from './tabs.js';

const ACTIONS = { restore: 'put back as it was', delete: 'removed: it did not exist before', create: 'created again', none: 'as it is' };

/** `path` is the address of the preview and of the command. */
export function openUndo(path, what) {
  const body = h('div.stack', h('p.muted', 'Looking at what would change…'));
  const force = h('input', { type: 'checkbox' });
  const forceLine = h('label.check', { hidden: true }, force, 'Undo although files changed since');
  const run = h(
    'button',
    {
      class: 'primary',
      disabled: true,
      onclick: () =>
        act(run, async () => {
          const answer = await api.post(path, { force: force.checked });
          box.close();
          const skipped = answer.skipped?.length ? ` ${answer.skipped.length} left as they are: ${answer.skipped[0].reason}` : '';
          toast(`Undone: ${answer.restored.length} files put back.${skipped}`, { kind: 'ok' });
        }),
    },
    'Undo',
  );
  const box = dialog(`Undo ${what}`, [body, forceLine], [run]);
  preview();

  async function preview() {
    try {
      const answer = await api.get(path);
      fill(body, previewList(answer));
      forceLine.hidden = !answer.files.some((file) => file.conflict);
      run.disabled = answer.files.length === 0;
    } catch (error) {
      fill(body, problem(error));
    }
  }
}

function previewList({ files, irreversible }) {
  return [
    files.length === 0 && h('p', 'There is nothing to put back.'),
    files.map((file) =>
      h(
        'details',
        { open: files.length === 1 },
        h(
          'summary',
          h('code', file.path),
          ` ${ACTIONS[file.action] ?? file.action}`,
          file.conflict && h('span.badge.ask', `! ${file.conflict}`),
        ),
        file.diff_html && insertRendered(h('div.rendered.scroll'), file.diff_html),
      ),
    ),
    irreversible?.length > 0 && h('div.call-error.ask', h('strong', 'Cannot be put back: '), irreversible.join('; ')),
  ];
}
