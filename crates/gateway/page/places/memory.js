// What agents remember: searched, listed by file, changed, forgotten.

import {
  ago,
  api,
  button,
  bytes,
  control,
  empty,
  fill,
  h,
  href,
  inRow,
  insertRendered,
  inStack,
  isAdmin,
  joined,
  later,
  link,
  load,
  mono,
  muted,
  page,
  replace,
  small,
  store,
  toast,
  withQuery,
} from '../core.js';

export default function mount(root, { query }) {
  let text = query.get('text') ?? '';
  let path = query.get('file');
  const search = h('input', { type: 'search', value: text, placeholder: 'What do you look for?', size: 32, oninput: later(searchAgain) });
  const results = inStack();
  const file = h('section.stack', { label: 'Memory file' });
  fill(page(root, 'Memory'), h('div.filters', control('Search', search), isAdmin() && addNote()), results, file);
  const again = load(results, request, draw);
  if (path) show(path);
  return {
    search,
    stops: [
      store.on('changed:memory', () => {
        again();
        if (path) show(path);
      }),
    ],
  };

  function searchAgain() {
    text = search.value.trim();
    replace('memory', null, { text, file: path });
    again();
  }

  function request() {
    return api.get('/api/memory', { text });
  }

  function draw(answer) {
    const notes = [answer.fallback, ...(answer.warnings ?? [])].filter(Boolean).map((note) => muted(`! ${note}`));
    return [notes, answer.results ? found(answer) : files(answer.files)];
  }

  function found({ results: hits, files: count }) {
    if (!hits.length) return muted(`Nothing fits in ${count} files.`);
    return hits.map((hit) =>
      h(
        'section.box',
        inRow(
          button(hit.citation, () => show(hit.path), 'link'),
          h('span.muted.grow', writer(hit.written_by)),
          small(`fits ${Math.round(hit.score * 100)} %`),
        ),
        insertRendered(h('pre'), hit.snippet_html),
      ),
    );
  }

  function files(list) {
    if (!list.length)
      return empty(
        'Nothing is remembered yet. Agents keep what matters later in MEMORY.md and in files of the folder “memory”.',
        'Tell the agent something to remember',
        href('chat', null, { text: "append 'Releases are on Fridays.' to MEMORY.md" }),
      );
    return h(
      'ul.pick',
      list.map((each) =>
        h(
          'li',
          button(mono(each.path), () => show(each.path), 'link'),
          h('span.muted', each.note ?? ''),
          small(`${bytes(each.bytes)}${each.changed ? ` · ${ago(each.changed)}` : ''}`),
        ),
      ),
    );
  }

  function show(name) {
    path = name;
    replace('memory', null, { text, file: path });
    load(
      file,
      () => api.get('/api/memory/file', { path: name }),
      fileView,
    );
  }

  function fileView(answer) {
    const lines = answer.text.split('\n');
    const mayEdit = isAdmin();
    return [
      inRow(
        h('h2.grow', answer.path),
        mayEdit && answer.editable && button('Edit…', () => edit(answer)),
        mayEdit && forgetButton(answer.path, 'Forget the whole file'),
      ),
      answer.parts.map((part) =>
        h(
          'section.box',
          inRow(
            h('span.muted.grow', `${lineRange(part)} · ${writer(part.written_by)}`),
            part.written_by.session && link('Its session', href('chat', part.written_by.session)),
            part.written_by.call && link('Its call', href('history', part.written_by.call)),
            mayEdit && forgetButton(`${answer.path}#L${part.first}-L${part.last}`, 'Forget'),
          ),
          h('pre.output', lines.slice(part.first - 1, part.last).join('\n')),
        ),
      ),
    ];
  }

  function edit({ path: name, text: before }) {
    const input = h('textarea.mono', { rows: 16, label: `Text of ${name}`, spellcheck: 'false', value: before });
    const save = () => api.put('/api/memory/file', { path: name, text: input.value });
    const buttons = inRow(button('Cancel', () => show(name)), changeButton('Save', 'Saved', save, 'primary'));
    fill(file, h('h2', name), input, buttons);
    input.focus();
  }

  function forgetButton(citation, label) {
    const forget = async () => {
      await api.delete(withQuery('/api/memory', { citation }));
      if (citation === path) {
        path = null;
        replace('memory', null, { text });
        fill(file);
      }
    };
    return changeButton(label, 'Forgotten', forget, 'danger');
  }

  /** Each change is a call: the history can undo it. */
  function changeButton(label, word, run, kind) {
    const change = async () => {
      await run();
      toast(`${word}. The history has it, and can undo it.`, { kind: 'ok' });
      again();
      if (path) show(path);
    };
    return button(label, change, kind);
  }

  function addNote() {
    const input = h('input', { placeholder: 'Releases are on Fridays', size: 32 });
    const add = async () => {
      await api.post('/api/memory', { text: input.value });
      input.value = '';
    };
    return [control('New note', input), changeButton('Remember', 'Remembered', add)];
  }
}

function lineRange({ first, last }) {
  return first === last ? `Line ${first}` : `Lines ${first}–${last}`;
}

function writer({ author, agent, tainted, edited_since: edited }) {
  const who = author === 'agent' ? `written by agent ${agent ?? ''}` : 'written by you';
  return joined([who, tainted && '! after untrusted content', edited && 'edited since']);
}
