// Stacked bars as SVG, with the same figures as a table and as CSV.

import { button, h, svg, table } from '../core.js';
import { download } from './session-actions.js';

const WIDTH = 720;
const HEIGHT = 220;
const LEFT = 56;
const BOTTOM = 24;

/** `rows`: `[{ label, values: { series: number } }]`; `format` gives a number its unit; `line` is a limit that is drawn across. */
export function stackedBars({ title, rows, format, line }) {
  const series = Object.keys(rows[0].values);
  const total = (row) => Object.values(row.values).reduce((sum, value) => sum + value, 0);
  const top = Math.max(line ?? 0, ...rows.map(total)) || 1;
  const y = (value) => 8 + (HEIGHT - BOTTOM - 8) * (1 - value / top);
  const step = (WIDTH - LEFT) / rows.length;
  const every = Math.ceil(rows.length / 8);
  const across = (value, kind) => svg('line', { class: kind, x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value) });
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', ariaLabel: `${title}. The table has the same figures.` },
    [0, top / 2, top].map((value) => [
      across(value, 'axis'),
      svg('text', { x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' }, format(value)),
    ]),
    rows.map((row, index) => [
      bar(row, index),
      index % every === 0 && svg('text', { x: LEFT + (index + 0.5) * step, y: HEIGHT - 6, 'text-anchor': 'middle' }, row.label),
    ]),
    line && [across(line, 'stroke-waiting'), svg('text', { x: LEFT + 4, y: y(line) - 4 }, `budget ${format(line)}`)],
  );
  const columns = [
    ['', (row) => row.label],
    ...series.map((name) => [name, (row) => format(row.values[name]), 'number']),
    ['Sum', (row) => format(total(row)), 'number'],
  ];
  const csv = () =>
    [['', ...series.map((name) => `"${name}"`)], ...rows.map((row) => [row.label, ...Object.values(row.values)])].join('\n');
  const legend = series.map((name, index) =>
    h(
      'li',
      svg('svg', { viewBox: '0 0 12 12', ariaHidden: true }, svg('rect', { class: `fill-${index}`, width: 12, height: 12 })),
      name,
    ),
  );
  return h(
    'figure.plot.box',
    h('figcaption.row.spread', h('h2', title), button('CSV', () => download('usage.csv', csv(), 'text/csv'))),
    picture,
    h('ul.legend', legend),
    h('details', h('summary', 'As a table'), table(columns, rows, title)),
  );

  function bar(row, index) {
    let below = 0;
    return Object.entries(row.values).map(([name, value], at) => {
      below += value;
      const box = {
        class: `fill-${at}`,
        x: LEFT + index * step + 1,
        y: y(below),
        width: Math.max(1, step - 2),
        height: y(below - value) - y(below),
      };
      return value > 0 && svg('rect', box, svg('title', null, `${row.label} · ${name}: ${format(value)}`));
    });
  }
}
