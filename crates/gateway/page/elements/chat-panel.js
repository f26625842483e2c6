// Beside the conversation: to-do list, sub-agents, files that its calls changed.

import { api, fill, h, href, openUndo, pathTo, sessionLook, store } from '../core.js';

const MARKS = { pending: '○', in_progress: '◐', completed: '✓' };

export function chatPanel(place) {
  const todos = h('div.stack');
  const agents = h('div.stack');
  const files = h('div.stack');
  const element = h(
    'aside.panel.stack',
    { 'aria-label': 'To-do list, sub-agents and files' },
    h(
      'div.row.spread',
      h('h2', 'This session'),
      h('button.quiet', { 'aria-label': 'Close panel (Esc)', onclick: () => place.togglePanel(false) }, '×'),
    ),
    h('h3', 'To do'),
    todos,
    h('h3', 'Sub-agents'),
    agents,
    h('h3', 'Changed files'),
    files,
  );
  let timer = 0;
  return { element, update };

  function update() {
    if (!element.isConnected || !place.id) return;
    drawTodos(place.transcript?.todos ?? []);
    clearTimeout(timer);
    timer = setTimeout(load, 200);
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
                h('span', { 'aria-hidden': 'true' }, `${MARKS[todo.status] ?? '?'} `),
                todo.status === 'in_progress' ? todo.active_form : todo.content,
                h('span.visually-hidden', ` (${todo.status.replace('_', ' ')})`),
              ),
            ),
          ),
    );
  }

  async function load() {
    const [agentAnswer, fileAnswer] = await Promise.all([
      api.get(pathTo('sessions', place.id, '/agents')).catch(() => ({ agents: [] })),
      api.get(pathTo('sessions', place.id, '/files')).catch(() => ({ files: [] })),
    ]);
    fill(agents, agentAnswer.agents.length === 0 ? h('p.muted', 'None were started.') : agentAnswer.agents.map(agentLine));
    fill(files, fileAnswer.files.length === 0 ? h('p.muted', 'No call changed a file.') : [fileAnswer.files.map(fileLine), undoAll()]);
  }

  function agentLine(agent) {
    const { icon, word } = sessionLook(agent.state);
    return h(
      'div.box',
      h('div.row', h('a', { href: href('chat', agent.id) }, agent.name), h('span.badge', `${icon} ${word}`)),
      h('small', agent.task),
      agent.last_line && h('small', agent.last_line),
    );
  }

  function fileLine(file) {
    const last = file.calls.at(-1);
    return h(
      'div.row',
      h('code.grow', file.path.replace(`${store.me.workspace}/`, '')),
      h('span.muted', `${file.calls.length}×`),
      last && h('a', { href: href('history', last) }, 'show'),
      last &&
        store.can('admin') &&
        h('button', { onclick: () => openUndo(pathTo('history', last, '/undo'), `the last change of ${file.path}`) }, 'Undo…'),
    );
  }

  function undoAll() {
    return (
      store.can('admin') &&
      h(
        'button',
        { onclick: () => openUndo(pathTo('sessions', place.id, '/undo'), 'all changes of this session') },
        'Undo all of this session…',
      )
    );
  }
}
