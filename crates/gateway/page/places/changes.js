// Changes of commands that wait for a review: what each one wrote, put in place or dropped path by path.

import {
  api,
  button,
  bytes,
  checkbox,
  empty,
  fill,
  h,
  href,
  inRow,
  inStack,
  isAdmin,
  load,
  page,
  pathTo,
  plural,
  rendered,
  section,
  store,
  toast,
  visible,
  when,
} from '../core.js';
import { stagedSet } from '../elements/staged.js';

export default function mount(root) {
  const body = page(root, 'Changes to review');
  const detail = h('section', { label: 'Change', ariaLive: 'polite' });
  const reload = load(
    body,
    () => Promise.all([api.get('/api/changes'), api.get('/api/quarantine')]),
    ([{ sets }, { entries }]) =>
      sets.length || entries.length
        ? h(
            'div.columns',
            inStack(
              sets.map((set) => stagedSet(set, detail)),
              entries.length > 0 && review(entries),
            ),
            detail,
          )
        : empty(
            'No change waits for a review. What a command wrote and may not stay, such as a Git hook, is held here until you decide.',
            'See what commands did',
            href('history', null, { tool: 'exec' }),
          ),
  );
  return { stops: ['changes', 'quarantine'].map((what) => store.on(`changed:${what}`, reload)) };

  function review(entries) {
    const chosen = new Set();
    const files = h(
      'ul.tree',
      entries.map((entry) =>
        h(
          'li',
          checkbox({
            label: `Choose ${entry.path}`,
            onchange: (event) => chosen[event.target.checked ? 'add' : 'delete'](entry.id),
          }),
          button(visible(entry.path), () => show(entry), 'link'),
          h('span.source', `${bytes(entry.size ?? 0)} · ${when(entry.made)} · ${entry.command ?? ''}`),
        ),
      ),
    );
    const each = (label, kind, run) => {
      const action = async () => {
        if (chosen.size === 0) return toast('Choose at least one path first.');
        for (const id of chosen) await run(pathTo('quarantine', id));
        fill(detail);
        return reload();
      };
      return button(label, action, { class: kind, disabled: !isAdmin() });
    };
    return section(
      `In quarantine: ${plural(entries.length, 'path')}`,
      files,
      inRow(
        each('Put the chosen in place', 'primary', (path) => api.post(`${path}/restore`, { force: false })),
        each('Drop the chosen', 'danger', api.delete),
      ),
    );
  }

  function show({ id }) {
    load(
      detail,
      () => api.get(pathTo('quarantine', id)),
      (entry) =>
        h(
          'div.box',
          h('h2', visible(entry.path)),
          h('p', entry.why),
          entry.content_html ? rendered(entry.content_html) : h('pre.output', entry.content ?? `No content is shown: ${entry.entry}`),
        ),
    );
  }
}
