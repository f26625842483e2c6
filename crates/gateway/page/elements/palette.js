// Ctrl-K: finds places, sessions, tools and settings.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { PLACES } from '../places.js';
import { href } from '../router.js';
import { store } from '../store.js';

const MOST = 30;
let tools = null;

export function openPalette() {
  if (document.querySelector('dialog[open]')) return;
  const opener = document.activeElement;
  const input = h('input', {
    type: 'search',
    placeholder: 'Find a place, session, tool…',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'palette-list',
    'aria-label': 'Find',
    oninput: draw,
    onkeydown: key,
  });
  const list = h('ul', { role: 'listbox', id: 'palette-list', 'aria-label': 'Results' });
  const box = h(
    'dialog.palette',
    {
      'aria-label': 'Find anything',
      onclose: () => {
        box.remove();
        opener?.isConnected && opener.focus();
      },
    },
    h('div.dialog-body', input, list),
  );
  let found = [];
  let choice = 0;
  let searched = [];
  let searchTimer = 0;
  document.body.append(box);
  box.showModal();
  draw();
  loadTools().then(draw);

  function draw() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (entry) => words.every((word) => `${entry.kind} ${entry.label}`.toLowerCase().includes(word));
    const known = new Set();
    found = [...candidates(), ...searched].filter((entry) => matches(entry) && !known.has(entry.to) && known.add(entry.to)).slice(0, MOST);
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
    if (words.length) search(input.value);
  }

  /** Sessions that the page does not hold are searched by the server. */
  function search(text) {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(async () => {
      const answer = await api.get('/api/sessions', { text, limit: 20, workspace: 'all' }).catch(() => ({ sessions: [] }));
      if (input.value !== text) return;
      const before = searched.length;
      searched = answer.sessions.map(sessionEntry);
      if (before !== searched.length) draw();
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
    ...(tools ?? []).map((tool) => ({
      kind: 'tool',
      label: `${tool.name} – ${tool.label ?? tool.description}`,
      to: href('tools', tool.name),
    })),
  ];
}

async function loadTools() {
  tools ??= (await api.get('/api/tools').catch(() => ({ tools: [] }))).tools;
}
