// Ctrl-K: finds places, sessions, tools and settings.

import { api, fill, h, href, PLACES, showModal, store } from '../core.js';

const MOST = 30;
/** Tools and settings, which are loaded once. */
let loaded = null;

export function openPalette() {
  if (document.querySelector('dialog[open]')) return;
  const input = h('input', {
    type: 'search',
    placeholder: 'Find a place, session, tool, setting…',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'palette-list',
    'aria-label': 'Find',
    oninput: draw,
    onkeydown: key,
  });
  const list = h('ul', { role: 'listbox', id: 'palette-list', 'aria-label': 'Results' });
  const box = h('dialog.palette', { 'aria-label': 'Find anything' }, h('div.dialog-body', input, list));
  let found = [];
  let choice = 0;
  let searched = [];
  let searchTimer = 0;
  showModal(box);
  draw();
  loadMore().then(draw);

  function draw(isTyped = true) {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (entry) => words.every((word) => `${entry.kind} ${entry.label}`.toLowerCase().includes(word));
    const known = new Set();
    if (isTyped) searched = [];
    if (isTyped && words.length) search(input.value);
    // What the server found fits already.
    const fitting = [...candidates().filter(matches), ...searched];
    found = fitting.filter(({ to }) => !known.has(to) && known.add(to)).slice(0, MOST);
    choice = 0;
    fill(
      list,
      found.length
        ? found.map((entry, index) =>
            h('li', { role: 'option', id: `found-${index}`, onclick: () => go(entry) }, h('span.badge', entry.kind), entry.label),
          )
        : h('li.muted', 'Nothing found.'),
    );
    mark();
  }

  /** Sessions that the page does not hold are searched by the server. */
  function search(text) {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(async () => {
      const answer = await api.get('/api/sessions', { text, limit: 20, workspace: 'all' }).catch(() => ({ sessions: [] }));
      if (input.value !== text) return;
      searched = answer.sessions.map(sessionEntry);
      draw(false);
    }, 200);
  }

  function mark() {
    [...list.children].forEach((item, index) => item.setAttribute('aria-selected', String(index === choice)));
    list.children[choice]?.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', `found-${choice}`);
  }

  function key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) {
      event.preventDefault();
      choice = (choice + step + found.length) % found.length;
      mark();
    } else if (event.key === 'Enter' && found[choice]) {
      event.preventDefault();
      go(found[choice]);
    }
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
        tools.map(({ name, label, description }) => ({
          kind: 'tool',
          label: `${name} – ${label ?? description}`,
          to: href('tools', name),
        })),
      ),
      list('/api/settings', ({ settings }) =>
        settings.map(({ key }) => ({ kind: 'setting', label: key, to: href('settings', null, { text: key }) })),
      ),
    ])
  ).flat();
}
