// The policy as a picture: every tool by every step, and what a changed configuration would have decided.

import { actionButton, agentSelect, api, fill, h, href, load, page, plural, store, table, verdictBadge, verdictLook } from '../core.js';

const EXAMPLE = '[rules]\ndeny = ["exec(git push *)"]\n';

export function mount(root) {
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
    const used = steps.filter((step) => tools.some((tool) => isOpinion(tool.cells[step])));
    const silent = steps.length - used.length;
    return [
      h('h2', 'Every tool, every step'),
      silent > 0 && h('small', `${plural(silent, 'step')} without a setting not shown.`),
      h(
        'div.scroll',
        h(
          'table.matrix',
          h(
            'thead',
            h(
              'tr',
              h('th.name', { scope: 'col' }, 'Tool'),
              h('th.name', { scope: 'col' }, 'Decision'),
              used.map((step) => h('th', { scope: 'col' }, step)),
            ),
          ),
          h(
            'tbody',
            tools.map((tool) =>
              h(
                'tr',
                h('th.name', { scope: 'row' }, h('a', { href: href('tools', tool.tool, { tab: 'explain', agent }) }, tool.tool)),
                h('td.name', verdictBadge(tool.verdict)),
                used.map((step) => h('td', cell(tool, step, tool.cells[step]))),
              ),
            ),
          ),
        ),
      ),
    ];
  }

  function cell(tool, step, entry) {
    const { icon, word, kind } = verdictLook(entry?.outcome ?? 'pass');
    const where = entry?.file ? ` (${entry.file}${entry.line ? `:${entry.line}` : ''})` : '';
    const text = `${tool.tool}, ${step}: ${word}${entry?.entry ? `: ${entry.entry}` : ''}${where}`;
    return h(
      'button',
      { class: `state ${kind}`, title: text, 'aria-label': text, onclick: () => fill(chosen, text) },
      tool.deciding === step ? `[${icon}]` : icon,
    );
  }
}

const isOpinion = (cell) => cell && cell.outcome !== 'pass';

function whatIf() {
  const text = h('textarea', { rows: 5, class: 'mono', spellcheck: 'false', 'aria-label': 'Configuration to try', value: EXAMPLE });
  const result = h('div.stack', { 'aria-live': 'polite' });
  const run = async () => fill(result, differences(await api.post('/api/policy/simulate', { config: text.value, calls: 1000 })));
  return h(
    'section.box',
    h('h2', 'What if…'),
    h('p.muted', 'Write settings as in config.toml. Nothing is saved: you see which past calls would have been decided differently.'),
    text,
    h('div', actionButton('Try it on past calls', run, { class: 'primary' })),
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
          ['Tool', (row) => h('a', { href: href('history', null, { tool: row.tool }) }, row.tool)],
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
