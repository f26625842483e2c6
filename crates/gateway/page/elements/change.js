// A change of the user's configuration: looked at as a diff, then saved.

import { api } from '../api.js';
import { fill, h, insertRendered } from '../dom.js';
import { act, toast } from '../notices.js';
import { dialog } from './dialog.js';
import { problem } from './tabs.js';

/** `edits` as the advice of the server has them. */
export function openChange(edits, saved = () => {}) {
  const body = h('div.stack', h('p.muted', 'Looking at what would change…'));
  const save = h(
    'button.primary',
    {
      disabled: true,
      onclick: () =>
        act(save, async () => {
          await api.put('/api/settings', { edits });
          box.close();
          toast('Saved. It holds from the next message on.', { kind: 'ok' });
          saved();
        }),
    },
    'Save',
  );
  const box = dialog('Change the configuration', [body], [save]);
  preview();

  async function preview() {
    try {
      const { file, changed, diff_html: html, problems } = await api.post('/api/settings/preview', { edits });
      fill(
        body,
        h('p', 'In ', h('code', file), ':'),
        changed
          ? insertRendered(h('div.rendered.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Diff' }), html)
          : h('p', 'This is there already: another file or a flag decides.'),
        problems.map((each) => h('p.muted', `! ${each.message}`)),
      );
      save.disabled = !changed;
    } catch (error) {
      fill(body, problem(error));
    }
  }
}
