// Changes of commands that wait for a review: what each one wrote, put in place or dropped path by path.

import { api } from '../api.js';
import { fill, h, insertRendered, visible } from '../dom.js';
import { bytes, plural, when } from '../format.js';
import { act, toast } from '../notices.js';
import { href } from '../router.js';
import { store } from '../store.js';
import { empty, load, page } from '../elements/page.js';
import { stagedSet } from '../elements/staged.js';

export function mount(root) {
  const body = page(root, 'Changes to review');
  const detail = h('section', { 'aria-label': 'Change', 'aria-live': 'polite' });
  const reload = load(
    body,
    () => Promise.all([api.get('/api/changes'), api.get('/api/quarantine')]),
    ([{ sets }, { entries }]) =>
      sets.length || entries.length
        ? h('div.columns', h('div.stack', sets.map((set) => stagedSet(set, detail)), entries.length > 0 && review(entries)), detail)
        : empty(
            'No change waits for a review. What a command wrote and may not stay, such as a Git hook, is held here until you decide.',
            'See what commands did',
            href('history', null, { tool: 'exec' }),
          ),
  );
  const stops = ['changes', 'quarantine'].map((what) => store.on(`changed:${what}`, () => reload()));
  return { unmount: () => stops.forEach((stop) => stop()) };

  function review(entries) {
    const chosen = new Set();
    const files = h(
      'ul.tree',
      entries.map((entry) =>
        h(
          'li',
          h('input', {
            type: 'checkbox',
            'aria-label': `Choose ${entry.path}`,
            onchange: (event) => {
              chosen[event.target.checked ? 'add' : 'delete'](entry.id);
            },
          }),
          h('button.link', { onclick: () => show(entry) }, visible(entry.path)),
          h('span.source', `${bytes(entry.size ?? 0)} · ${when(entry.made)} · ${entry.command ?? ''}`),
        ),
      ),
    );
    const each = (label, kind, run) => {
      const button = h(
        'button',
        {
          class: kind,
          disabled: !store.can('admin'),
          onclick: () =>
            act(button, async () => {
              if (chosen.size === 0) return toast('Choose at least one path first.');
              for (const id of chosen) await run(`/api/quarantine/${encodeURIComponent(id)}`);
              fill(detail);
              return reload();
            }),
        },
        label,
      );
      return button;
    };
    return h(
      'section.box',
      h('h2', `In quarantine: ${plural(entries.length, 'path')}`),
      files,
      h(
        'div.row',
        each('Put the chosen in place', 'primary', (path) => api.post(`${path}/restore`, { force: false })),
        each('Drop the chosen', 'danger', api.delete),
      ),
    );
  }

  function show({ id }) {
    load(
      detail,
      () => api.get(`/api/quarantine/${encodeURIComponent(id)}`),
      (entry) =>
        h(
          'div.box',
          h('h2', visible(entry.path)),
          h('p', entry.why),
          entry.content_html
            ? insertRendered(h('div.rendered.scroll'), entry.content_html)
            : h('pre.output', entry.content ?? `No content is shown: ${entry.entry}`),
        ),
    );
  }
}
