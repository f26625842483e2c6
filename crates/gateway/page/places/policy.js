// The policy as a picture: every tool by every step, and what a changed configuration would have decided.

import {
  agentSelect,
  api,
  button,
  fill,
  h,
  href,
  inStack,
  joined,
  link,
  load,
  muted,
  page,
  plural,
  section,
  small,
  sourceText,
  store,
  table,
  verdictBadge,
  verdictLook,
} from '../core.js';

const EXAMPLE = '[rules]\ndeny = ["exec(git push *)"]\n';

export default function mount(root) {
  const picture = h('section.box');
  const chosen = h('p', { role: 'status' }, 'Choose a cell to see the rule that decides.');
  let agent = store.me.agent;
  const body = page(
    root,
    'Policy',
    agentSelect(agent, (value) => {
      agent = value;
      again();
    }),
  );
  fill(body, whatIf(), chosen, picture);
  const again = load(picture, () => api.get('/api/policy', { agent }), matrix);
  return {};

  function matrix({ steps, tools }) {
    const used = steps.filter((step) => tools.some((tool) => tool.cells[step]));
    const silent = steps.length - used.length;
    return [
      h('h2', 'Every tool, every step'),
      small(`Before arguments are known: what a ? says depends on them. ${plural(silent, 'step')} without a setting not shown.`),
      table(
        [
          ['Tool', ({ tool }) => link(tool, href('tools', tool, { tab: 'explain', agent })), 'name'],
          ['Decision', ({ verdict }) => verdictBadge(verdict), 'name'],
          ...used.map((step) => [step, (tool) => cell(tool, step, tool.cells[step])]),
        ],
        tools,
        'Policy',
        { class: 'matrix' },
      ),
    ];
  }

  function cell(tool, step, entry) {
    const { icon: sign, word, kind } = verdictLook(entry?.outcome ?? 'pass');
    const icon = entry?.entry.startsWith('depends') ? '?' : sign;
    const where = entry?.file ? ` (${sourceText(entry)})` : '';
    const text = `${tool.tool}, ${step}: ${joined([icon !== '?' && word, entry?.entry], ': ')}${where}`;
    const show = () => fill(chosen, text);
    return button(tool.deciding === step ? `[${icon}]` : icon, show, { class: `state ${kind}`, title: text, label: text });
  }
}

function whatIf() {
  const text = h('textarea', { rows: 5, class: 'mono', spellcheck: 'false', label: 'Configuration to try', value: EXAMPLE });
  const result = inStack({ ariaLive: 'polite' });
  const run = async () => fill(result, differences(await api.post('/api/policy/simulate', { config: text.value, calls: 1000 })));
  return section(
    'What if…',
    muted('Write settings as in config.toml. Nothing is saved: you see which past calls they would have changed.'),
    text,
    button('Try it on past calls', run, 'primary'),
    result,
  );
}

function differences({ differences: changed, same, unknown, problems }) {
  const count = changed.reduce((sum, row) => sum + (row.calls ?? 1), 0);
  return [
    problems?.map((each) => h('p.call-error', { role: 'alert' }, each.message ?? String(each))),
    count + same + unknown > 0 &&
      h('p', `${plural(count, 'call')} would change, ${same} stay the same${unknown ? `, ${unknown} cannot be told` : ''}.`),
    changed.length > 0 &&
      table(
        [
          ['Tool', (row) => link(row.tool, href('history', null, { tool: row.tool }))],
          ['About', (row) => row.target],
          ['Calls', (row) => row.calls, 'number'],
          ['Was', (row) => verdictBadge(row.was)],
          ['Now', (row) => verdictBadge(row.now)],
          ['Because', (row) => row.because],
        ],
        changed,
        'Differences',
      ),
  ];
}
