// Stacked bars as SVG, with the same figures as a table and as CSV.

import { fill, h, svg } from '../dom.js';
import { table } from './page.js';
import { download } from './session-actions.js';

const WIDTH = 720;
const HEIGHT = 220;
const LEFT = 56;
const BOTTOM = 24;
const MOST_SERIES = 6;

/** `rows`: `[{ label, values: { series: number } }]`; `format` gives a number its unit; `line` is a limit that is drawn across. */
export function stackedBars({ title, rows, format, line }) {
  const series = topSeries(rows);
  const total = (row) => Object.values(row.values).reduce((sum, value) => sum + value, 0);
  const top = Math.max(line ?? 0, ...rows.map(total)) || 1;
  const y = (value) => 8 + (HEIGHT - BOTTOM - 8) * (1 - value / top);
  const step = (WIDTH - LEFT) / Math.max(1, rows.length);
  const bars = rows.flatMap((row, index) => bar(row, index));
  const every = Math.ceil(rows.length / 8);
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}. The table has the same figures.` },
    [0, 0.5, 1].map((part) => [
      svg('line', { class: 'axis', x1: LEFT, x2: WIDTH, y1: y(part * top), y2: y(part * top) }),
      svg('text', { x: LEFT - 6, y: y(part * top) + 4, 'text-anchor': 'end' }, format(part * top)),
    ]),
    bars,
    rows.map(
      (row, index) =>
        index % every === 0 && svg('text', { x: LEFT + (index + 0.5) * step, y: HEIGHT - 6, 'text-anchor': 'middle' }, row.label),
    ),
    line && [
      svg('line', { class: 'stroke-waiting', x1: LEFT, x2: WIDTH, y1: y(line), y2: y(line) }),
      svg('text', { x: LEFT + 4, y: y(line) - 4 }, `budget ${format(line)}`),
    ],
  );
  const columns = [
    ['', (row) => row.label],
    ...series.map((name) => [name, (row) => format(valueOf(row, name)), 'number']),
    ['Sum', (row) => format(total(row)), 'number'],
  ];
  const figures = h('details', h('summary', 'As a table'), table(columns, rows, title));
  const csv = () =>
    [['', ...series].join(','), ...rows.map((row) => [row.label, ...series.map((name) => valueOf(row, name))].join(','))].join('\n');
  const legend = h(
    'ul.legend',
    series.map((name, index) =>
      h(
        'li',
        svg('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true' }, svg('rect', { class: `fill-${index}`, width: 12, height: 12 })),
        name,
      ),
    ),
  );
  return fill(
    h('figure.plot.box'),
    h('figcaption.row.spread', h('h2', title), h('button', { onclick: () => download('usage.csv', csv(), 'text/csv') }, 'CSV')),
    picture,
    legend,
    figures,
  );

  function valueOf(row, name) {
    if (name !== 'others') return row.values[name] ?? 0;
    return Object.entries(row.values).reduce((sum, [key, value]) => (series.includes(key) ? sum : sum + value), 0);
  }

  function bar(row, index) {
    let below = 0;
    return series.map((name, at) => {
      const value = valueOf(row, name);
      below += value;
      return (
        value > 0 &&
        svg(
          'rect',
          {
            class: `fill-${at}`,
            x: LEFT + index * step + 1,
            y: y(below),
            width: Math.max(1, step - 2),
            height: Math.max(0, y(below - value) - y(below)),
          },
          svg('title', null, `${row.label} · ${name}: ${format(value)}`),
        )
      );
    });
  }
}

/** The names with the largest sums; the rest is one series. */
function topSeries(rows) {
  const sums = new Map();
  for (const row of rows) for (const [name, value] of Object.entries(row.values)) sums.set(name, (sums.get(name) ?? 0) + value);
  const names = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return names.length > MOST_SERIES ? [...names.slice(0, MOST_SERIES - 1), 'others'] : names;
}
