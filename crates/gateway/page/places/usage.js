// Tokens and cost by day and model, the dearest sessions, the slowest and least reliable tools.

import {
  api,
  button,
  duration,
  empty,
  figureList,
  h,
  href,
  insertRendered,
  link,
  load,
  money,
  page,
  replace,
  section,
  select,
  share,
  table,
  tokens,
} from '../core.js';
import { download } from '../elements/session-actions.js';

export default function mount(root, { query }) {
  const chosen = { days: query.get('days') ?? '30', by: query.get('by') ?? 'tokens' };
  const choice = (name, label, options) =>
    select(
      options,
      chosen[name],
      (value) => {
        chosen[name] = value;
        replace('usage', null, chosen);
        again();
      },
      { label: label },
    );
  const days = ['7', '30', '90'].map((count) => [count, `${count} days`]);
  const measures = [
    ['tokens', 'Tokens'],
    ['cost', 'Cost'],
    ['kind', 'Kinds of tokens'],
  ];
  const body = page(root, 'Usage', choice('days', 'Time', days), choice('by', 'Measure', measures));
  const again = load(
    body,
    () => api.get('/api/usage', chosen),
    draw,
  );
  return {};
}

function draw(usage) {
  if (usage.days.length === 0 && usage.tools.length === 0 && usage.quotas.length === 0)
    return empty(
      'No model was asked in this time. What each day, session and tool costs is shown here.',
      'Ask the agent something',
      href('chat'),
    );
  const sum = (name) => usage.days.reduce((total, day) => total + (day.usage[name] ?? 0), 0);
  const input = sum('input_tokens');
  const isUnknown = sum('unpriced_requests') > 0;
  const cost = sum('cost');
  const figures = [
    ['cost', `${money(cost || !isUnknown ? cost : null)}${cost && isUnknown ? ' + unknown' : ''}`],
    ['tokens in', tokens(input)],
    ['tokens out', tokens(sum('output_tokens'))],
    ['of the input was cached', input ? `${Math.round((100 * sum('cached_tokens')) / input)} %` : '–'],
    ['requests', sum('requests')],
  ];
  return [
    figureList(figures),
    usage.quotas.length > 0 && quotas(usage),
    usage.plot && plot(usage.plot),
    h('div.columns', usage.sessions.length > 0 && sessions(usage), tools(usage)),
  ];
}

/** The server draws it, with its table. */
const plot = ({ title, html, csv }) =>
  section(
    title,
    button('CSV', () => download('usage.csv', csv, 'text/csv')),
    insertRendered(h('div.plot'), html),
  );

function quotas(usage) {
  return section(
    'Quotas',
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
  return section(
    'Sessions',
    table(
      [
        ['Session', (row) => link(row.title || 'New session', href('chat', row.id))],
        ['Tokens', (row) => tokens(row.usage.input_tokens + row.usage.output_tokens), 'number'],
        ['Cost', (row) => money(row.usage.cost), 'number'],
      ],
      usage.sessions,
      'Sessions',
    ),
  );
}

function tools(usage) {
  return section(
    'Tools',
    table(
      [
        ['Tool', (row) => link(row.tool, href('history', null, { tool: row.tool }))],
        ['Calls', (row) => row.calls, 'number'],
        ['Failed', (row) => share(row.errors, row.calls), 'number'],
        ['p50', (row) => duration(row.p50_ms), 'number'],
        ['p95', (row) => duration(row.p95_ms), 'number'],
      ],
      usage.tools,
      'Tools',
    ),
  );
}
