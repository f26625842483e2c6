// All open approvals over all sessions. Identical ones are answered together.

import {
  ago,
  api,
  badge,
  button,
  checkbox,
  empty,
  fill,
  h,
  href,
  inRow,
  link,
  mono,
  page,
  pathTo,
  setText,
  small,
  store,
  table,
  visible,
} from '../core.js';
import { openApproval } from '../elements/approval.js';

const RISKS = { high: 'fail', medium: 'ask' };

export default function mount(root) {
  const body = page(root, 'Inbox');
  const chosen = new Set();
  draw();
  return { stops: [store.on('approvals', draw)] };

  function draw() {
    const approvals = [...store.approvals.values()];
    for (const id of chosen) if (!store.approvals.has(id)) chosen.delete(id);
    const text = 'Nothing waits for you. When an agent needs an approval, it is listed here.';
    fill(body, approvals.length ? list(approvals) : empty(text, 'Ask the agent something', href('chat')));
  }

  function list(approvals) {
    const boxes = new Map(approvals.map((approval) => [approval, choice(approval)]));
    const answers = [answer('Deny', 'deny', 'danger'), answer('Allow once', 'once')];
    const columns = [
      ['', (row) => boxes.get(row)],
      ['Agent', (row) => link(row.agent, href('chat', row.session), { title: 'Open the session' })],
      ['Wants', wanted],
      ['Risk', ({ risk }) => h('span.badge', { class: RISKS[risk.level], title: risk.words }, `${risk.level}: ${risk.words}`)],
      ['Undo', (row) => (row.can_undo ? 'possible' : 'not possible')],
      ['Age', (row) => [ago(row.asked), h('div.countdown', { 'data-expires': row.expires })]],
      ['', (row) => button('Answer…', () => openApproval(row.id), 'primary')],
    ];
    mark();
    return [table(columns, approvals, 'Open approvals', { class: 'cards' }), store.can('approve') && inRow(answers)];

    function choice(approval) {
      const change = ({ target }) => {
        chosen[target.checked ? 'add' : 'delete'](approval.id);
        mark();
      };
      const name = `Choose ${approval.agent}: ${approval.tool}`;
      return checkbox({ label: name, checked: chosen.has(approval.id), onchange: change });
    }

    /** Only what is identical can be chosen together. */
    function mark() {
      const first = approvals.find(({ id }) => chosen.has(id));
      for (const [approval, box] of boxes) box.disabled = Boolean(first) && signature(first) !== signature(approval);
      for (const each of answers) {
        each.disabled = !first;
        setText(each, `${each.name}${chosen.size > 1 ? ` all ${chosen.size}` : ''}`);
      }
    }
  }

  function answer(name, word, kind) {
    const send = ({ id, fingerprint }) => api.post(pathTo('approvals', id), { fingerprint, answer: word });
    return button(name, () => Promise.all([...chosen].map((id) => send(store.approvals.get(id)))), { class: kind, name });
  }
}

function wanted({ tool, effects, reason }) {
  const one = ({ kind, target }) => h('div', badge(kind), ' ', mono(visible(target)));
  return [h('strong', tool), effects.map(one), small(reason)];
}

const signature = ({ tool, effects, arguments: values }) => JSON.stringify([tool, effects, values]);
