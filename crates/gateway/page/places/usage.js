// Tokens and cost by day, the dearest sessions, the slowest and least reliable tools.

import { api, duration, empty, figureList, h, href, load, money, page, replace, select, table, tokens } from '../core.js';
import { stackedBars } from '../elements/plot.js';

export function mount(root, { query }) {
  let days = query.get('days') ?? '30';
  let measure = query.get('by') ?? 'tokens';
  const set = () => {
    replace('usage', null, { days, by: measure });
    again();
  };
  const body = page(
    root,
    'Usage',
    select(
      [
        ['7', '7 days'],
        ['30', '30 days'],
        ['90', '90 days'],
      ],
      days,
      (value) => {
        days = value;
        set();
      },
      { 'aria-label': 'Time' },
    ),
    select(
      [
        ['tokens', 'Tokens'],
        ['cost', 'Cost'],
      ],
      measure,
      (value) => {
        measure = value;
        set();
      },
      { 'aria-label': 'Measure' },
    ),
  );
  const again = load(
    body,
    () => api.get('/api/usage', { days }),
    (usage) => draw(usage, measure === 'cost'),
  );
  return {};
}

function draw(usage, isCost) {
  if (usage.days.length === 0 && usage.tools.length === 0 && usage.quotas.length === 0)
    return empty(
      'No model was asked in this time. What each day, session and tool costs is shown here.',
      'Ask the agent something',
      href('chat'),
    );
  const sum = (name) => usage.days.reduce((total, day) => total + (day.usage[name] ?? 0), 0);
  const input = sum('input_tokens');
  const unknown = sum('unpriced_requests') ? ' + unknown' : '';
  const figures = [
    ['cost', `${money(sum('cost'))}${unknown}`],
    ['tokens in', tokens(input)],
    ['tokens out', tokens(sum('output_tokens'))],
    ['of the input was cached', input ? `${Math.round((100 * sum('cached_tokens')) / input)} %` : '–'],
    ['requests', sum('requests')],
  ];
  return [
    figureList(figures),
    usage.quotas.length > 0 && quotas(usage),
    usage.days.length > 0 && stackedBars(isCost ? costs(usage) : amounts(usage)),
    h('div.columns', sessions(usage), tools(usage)),
  ];
}

const label = (day) => day.day.slice(5);

function costs({ days, budget }) {
  const line = Number.parseFloat(String(budget?.day ?? '').replace('$', '')) || null;
  return {
    title: 'Cost by day, in dollars',
    rows: days.map((day) => ({ label: label(day), values: { cost: day.cost ?? 0 } })),
    format: money,
    line,
  };
}

function amounts({ days }) {
  const values = ({ usage }) => ({
    'input, new': usage.input_tokens - (usage.cached_tokens ?? 0),
    'input, cached': usage.cached_tokens ?? 0,
    output: usage.output_tokens,
  });
  return {
    title: 'Tokens by day',
    rows: days.map((day) => ({ label: label(day), values: values(day) })),
    format: (value) => tokens(Math.round(value)),
  };
}

function quotas(usage) {
  return h(
    'section.box',
    h('h2', 'Quotas'),
    table(
      [
        ['Quota', (row) => row.quota],
        ['Used', (row) => row.text],
        ['Renews', (row) => row.renews ?? 'when something is removed'],
      ],
      usage.quotas,
      'Quotas',
    ),
  );
}

function sessions(usage) {
  const title = (row) => h('a', { href: href('chat', row.id) }, row.title || 'New session');
  return (
    usage.sessions.length > 0 &&
    h(
      'section.box',
      h('h2', 'Sessions'),
      table(
        [
          ['Session', title],
          ['Tokens', (row) => tokens(row.usage.input_tokens + row.usage.output_tokens), 'number'],
          ['Cost', (row) => money(row.usage.cost), 'number'],
        ],
        usage.sessions,
        'Sessions',
      ),
    )
  );
}

function tools(usage) {
  const failed = (row) => `${row.errors} (${Math.round((100 * row.errors) / Math.max(1, row.calls))} %)`;
  return h(
    'section.box',
    h('h2', 'Tools'),
    table(
      [
        ['Tool', (row) => h('a', { href: href('history', null, { tool: row.tool }) }, row.tool)],
        ['Calls', (row) => row.calls, 'number'],
        ['Failed', failed, 'number'],
        ['p50', (row) => duration(row.p50_ms), 'number'],
        ['p95', (row) => duration(row.p95_ms), 'number'],
      ],
      usage.tools,
      'Tools',
    ),
  );
}
