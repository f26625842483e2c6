// Tokens and cost by day and model, the dearest sessions, the slowest and least reliable tools.

import { api } from '../api.js';
import { h } from '../dom.js';
import { duration, money, tokens } from '../format.js';
import { href, replace } from '../router.js';
import { empty, load, page, select, table } from '../elements/page.js';
import { stackedBars } from '../elements/plot.js';

export function mount(root, { query }) {
  let days = query.get('days') ?? '30';
  let measure = query.get('by') ?? 'tokens';
  const set = () => { replace('usage', null, { days, by: measure }); again(); };
  const body = page(root, 'Usage',
    select([['7', '7 days'], ['30', '30 days'], ['90', '90 days']], days, (value) => { days = value; set(); }, { 'aria-label': 'Time' }),
    select([['tokens', 'Tokens'], ['cost', 'Cost']], measure, (value) => { measure = value; set(); }, { 'aria-label': 'Measure' }));
  const again = load(body, () => api.get('/api/usage', { days }), (usage) => draw(usage, measure));
  return {};
}

function draw(usage, measure) {
  const models = usage.days.flatMap((day) => day.models);
  if (models.length === 0 && usage.tools.length === 0) return empty('No model was asked in this time. What each day, session and tool costs is shown here.', 'Ask the agent something', href('chat'));
  const sum = (name) => models.reduce((total, model) => total + (model[name] ?? 0), 0);
  const input = sum('input_tokens');
  const hasUnknown = models.some((model) => model.cost === null || model.cost === undefined);
  const figures = [['cost', `${money(sum('cost'))}${hasUnknown ? ' + unknown' : ''}`], ['tokens in', tokens(input)], ['tokens out', tokens(sum('output_tokens'))], ['of the input was cached', input ? `${Math.round((100 * sum('cached_tokens')) / input)} %` : '–'], ['requests', sum('requests')]];
  const valueOf = (model) => (measure === 'cost' ? model.cost ?? 0 : model.input_tokens + model.output_tokens);
  const rows = usage.days.map((day) => ({ label: day.day.slice(5), values: Object.fromEntries(day.models.map((model) => [model.model, valueOf(model)])) }));
  const isCost = measure === 'cost';
  return [
    h('div.figures', figures.map(([label, value]) => h('div.figure', h('b', value), label))),
    rows.length > 0 && stackedBars({ title: isCost ? 'Cost by day, in dollars' : 'Tokens by day', rows, format: isCost ? money : (value) => tokens(Math.round(value)), line: isCost ? usage.budget?.day : null }),
    h('div.columns',
      h('section.box', h('h2', 'Sessions'), table([['Session', (row) => h('a', { href: href('chat', row.id) }, row.title || 'New session')], ['Tokens', (row) => tokens(row.input_tokens + row.output_tokens), 'number'], ['Cost', (row) => money(row.cost), 'number']], usage.sessions, 'Sessions')),
      h('section.box', h('h2', 'Tools'), table([['Tool', (row) => h('a', { href: href('history', null, { tool: row.tool }) }, row.tool)], ['Calls', (row) => row.calls, 'number'], ['Failed', (row) => `${row.errors} (${Math.round((100 * row.errors) / Math.max(1, row.calls))} %)`, 'number'], ['p50', (row) => duration(row.p50_ms), 'number'], ['p95', (row) => duration(row.p95_ms), 'number']], usage.tools, 'Tools'))),
  ];
}
