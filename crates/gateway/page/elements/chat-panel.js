// Beside the conversation: to-do list, sub-agents, files that its calls changed.

import {
  api,
  badge,
  button,
  fill,
  h,
  href,
  inRow,
  inStack,
  isAdmin,
  later,
  link,
  load,
  muted,
  sessionLook,
  sessionPath,
  small,
  store,
  undoCall,
  undoSession,
} from '../core.js';
import { decision } from './call-detail.js';

const MARKS = { pending: '○', in_progress: '◐', completed: '✓' };

export default function chatPanel(id, getTranscript, toggle) {
  const todos = inStack();
  const agents = inStack();
  const files = inStack();
  const trace = inStack(h('h3', 'Trace'), muted('Choose a card.'));
  const element = h(
    'aside.panel.stack',
    { label: 'This session' },
    h(
      'div.row.spread',
      h('h2', 'This session'),
      button('×', () => toggle(false), { class: 'quiet', label: 'Close panel (Esc)' }),
    ),
    h('h3', 'To do'),
    todos,
    h('h3', 'Sub-agents'),
    agents,
    h('h3', 'Changed files'),
    files,
    trace,
  );
  const loadSoon = later(loadLists);
  return { element, update, select };

  /** Shows how a call was decided on. */
  function select(call) {
    load(
      trace,
      () => decision(call),
      (steps) => [h('h3', `Trace of ${call.tool}`), steps],
    );
  }

  function update() {
    if (!element.isConnected || !id) return;
    drawTodos(getTranscript()?.todos ?? []);
    loadSoon();
  }

  function drawTodos(list) {
    fill(
      todos,
      list.length === 0
        ? muted('No list.')
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

  async function loadLists() {
    const list = (what) =>
      api.get(sessionPath(id, `/${what}`)).then(
        (answer) => answer[what],
        () => [],
      );
    const [started, changed] = await Promise.all([list('agents'), list('files')]);
    fill(agents, started.length ? started.map(agentLine) : muted('None.'));
    fill(files, changed.length ? [changed.map(fileLine), undoAll()] : muted('None.'));
  }

  function agentLine(agent) {
    return h(
      'div.box',
      inRow(link(agent.name, href('chat', agent.id)), badge(sessionLook(agent.state))),
      small(agent.task),
      agent.last_line && small(agent.last_line),
    );
  }

  function fileLine({ path, calls, added, removed }) {
    const record = calls.at(-1);
    return inRow(
      h('code.grow', path.replace(`${store.me.workspace}/`, '')),
      added != null && h('span.muted', `+${added} −${removed}`),
      record && link('show', href('history', record)),
      record && isAdmin() && button('Undo…', () => undoCall({ record }, `the last change of ${path}`)),
    );
  }

  function undoAll() {
    return isAdmin() && button('Undo all of this session…', () => undoSession(id));
  }
}
