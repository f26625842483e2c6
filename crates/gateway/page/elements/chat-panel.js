// Beside the conversation: to-do list, sub-agents, files that its calls changed.

import { api, badge, button, fill, h, href, later, link, pathTo, sessionLook, store, undoCall, undoSession } from '../core.js';

const MARKS = { pending: '○', in_progress: '◐', completed: '✓' };

export default function chatPanel(id, getTranscript, toggle) {
  const todos = h('div.stack');
  const agents = h('div.stack');
  const files = h('div.stack');
  const element = h(
    'aside.panel.stack',
    { ariaLabel: 'To-do list, sub-agents and files' },
    h(
      'div.row.spread',
      h('h2', 'This session'),
      button('×', () => toggle(false), { class: 'quiet', ariaLabel: 'Close panel (Esc)' }),
    ),
    h('h3', 'To do'),
    todos,
    h('h3', 'Sub-agents'),
    agents,
    h('h3', 'Changed files'),
    files,
  );
  const loadSoon = later(load);
  return { element, update };

  function update() {
    if (!element.isConnected || !id) return;
    drawTodos(getTranscript()?.todos ?? []);
    loadSoon();
  }

  function drawTodos(list) {
    fill(
      todos,
      list.length === 0
        ? h('p.muted', 'The model has made no to-do list.')
        : h(
            'ul.todo',
            list.map((todo) =>
              h(
                'li',
                { class: todo.status },
                h('span', { ariaHidden: true }, `${MARKS[todo.status] ?? '?'} `),
                todo.status === 'in_progress' ? todo.active_form : todo.content,
                h('span.visually-hidden', ` (${todo.status.replace('_', ' ')})`),
              ),
            ),
          ),
    );
  }

  async function load() {
    const list = (what) =>
      api.get(pathTo('sessions', id, `/${what}`)).then(
        (answer) => answer[what],
        () => [],
      );
    const [started, changed] = await Promise.all([list('agents'), list('files')]);
    fill(agents, started.length ? started.map(agentLine) : h('p.muted', 'None were started.'));
    fill(files, changed.length ? [changed.map(fileLine), undoAll()] : h('p.muted', 'No call changed a file.'));
  }

  function agentLine(agent) {
    return h(
      'div.box',
      h('div.row', link(agent.name, href('chat', agent.id)), badge(sessionLook(agent.state))),
      h('small', agent.task),
      agent.last_line && h('small', agent.last_line),
    );
  }

  function fileLine({ path, calls, added, removed }) {
    const record = calls.at(-1);
    return h(
      'div.row',
      h('code.grow', path.replace(`${store.me.workspace}/`, '')),
      added != null && h('span.muted', `+${added} −${removed}`),
      record && link('show', href('history', record)),
      record && store.can('admin') && button('Undo…', () => undoCall({ record }, `the last change of ${path}`)),
    );
  }

  function undoAll() {
    return store.can('admin') && button('Undo all of this session…', () => undoSession(id));
  }
}
