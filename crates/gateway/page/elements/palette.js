// Ctrl-K: finds places, sessions, tools and settings.

import { api, badge, choices, h, href, later, PLACES, prevent, showModal, store } from '../core.js';

const MOST = 30;
/** Tools and settings, which are loaded once. */
let loaded = null;

export default function openPalette() {
  if (document.querySelector('dialog[open]')) return;
  const input = h('input', {
    placeholder: 'Find a place, session, tool, setting…',
    label: 'Find',
    oninput: () => draw(),
    onkeydown: key,
  });
  const options = choices(input, 'results', { draw: ({ kind, label }) => [badge(kind), label], take: go });
  const box = h('dialog.palette', { label: 'Find anything' }, h('div.dialog-body', input, options.list));
  const searchSoon = later(search);
  let searched = [];
  showModal(box);
  draw();
  loadMore().then(() => draw());

  function draw(isTyped = true) {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (entry) => words.every((word) => `${entry.kind} ${entry.label}`.toLowerCase().includes(word));
    const known = new Set();
    if (isTyped) searched = [];
    if (isTyped && words.length) searchSoon();
    // What the server found fits already.
    const fitting = [...candidates().filter(matches), ...searched];
    options.show(fitting.filter(({ to }) => !known.has(to) && known.add(to)).slice(0, MOST), h('li.muted', 'Nothing found.'));
  }

  /** Sessions that the page does not hold are searched by the server. */
  async function search() {
    const text = input.value;
    const answer = await api.get('/api/sessions', { text, limit: 20, workspace: 'all' }).catch(() => ({ sessions: [] }));
    if (input.value !== text) return;
    searched = answer.sessions.map(sessionEntry);
    draw(false);
  }

  function key(event) {
    if (options.key(event) || event.key !== 'Enter' || !options.chosen()) return;
    prevent(event);
    go(options.chosen());
  }

  function go(entry) {
    box.close();
    location.hash = entry.to;
  }
}

const sessionEntry = (session) => ({ kind: 'session', label: session.title || 'New session', to: href('chat', session.id) });

function candidates() {
  return [
    ...PLACES.map(([name, label]) => ({ kind: 'place', label, to: href(name) })),
    ...[...store.sessions.values()].map(sessionEntry),
    ...(loaded ?? []),
  ];
}

async function loadMore() {
  const list = (path, entries) => api.get(path).then(entries, () => []);
  loaded ??= (
    await Promise.all([
      list('/api/tools', ({ tools }) =>
        tools.map(({ name, label, description }) => ({ kind: 'tool', label: `${name} – ${label ?? description}`, to: href('tools', name) })),
      ),
      list('/api/settings', ({ settings }) =>
        settings.map(({ key }) => ({ kind: 'setting', label: key, to: href('settings', null, { text: key }) })),
      ),
    ])
  ).flat();
}
