// What happened over time: a lane for each session or job, a bar as long as it took, shape and colour by how it went.

import { fullTime, h, plural, seconds, svg, time } from '../core.js';

const LANES = 8;
const LANE = 18;
const TOP = 4;
const LEFT = 150;
const WIDTH = 1000;
const MOST_BARS = 1500;
const DAY = 86_400_000;
const HOUR = 3_600_000;

/** `entries`: `[{ lane, at, took, waited, kind, title, open }]`. Dragging over a span calls `zoom(since, until)`; `now` is drawn as a line. */
export function timeline(entries, { what, laneTitle = (lane) => lane, legend, zoom, now }) {
  const shown = entries.slice(0, MOST_BARS);
  if (shown.length === 0) return null;
  const from = Math.min(...shown.map((entry) => entry.at), now ? now - HOUR : Infinity);
  const span = Math.max(1000, Math.max(...shown.map((entry) => entry.at + (entry.took ?? 0)), now ? now + HOUR : 0) - from);
  const lanes = [...new Set(shown.map((entry) => entry.lane))];
  const count = Math.min(lanes.length, LANES);
  const height = TOP + count * LANE + 20;
  const x = (at) => LEFT + ((at - from) / span) * (WIDTH - LEFT - 10);
  const brush = svg('rect', { class: 'brush', height: height - 20, width: 0 });
  const hatch = { id: 'hatch', width: 4, height: 4, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' };
  const picture = svg(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${height}`,
      role: 'img',
      label: `Timeline: ${plural(shown.length, what)} from ${fullTime(from)} to ${fullTime(from + span)}`,
    },
    svg('defs', null, svg('pattern', hatch, svg('line', { y2: 4, class: 'stroke-waiting' }))),
    Array.from({ length: count }, (_, index) => laneLabel(index)),
    [0, 0.25, 0.5, 0.75, 1].map(tick),
    now && svg('line', { class: 'now', x1: x(now), x2: x(now), y2: height - 16 }, svg('title', null, 'now')),
    shown.map(bar),
    brush,
  );
  if (zoom) watchBrush();
  return h(
    'div.timeline',
    picture,
    h(
      'ul.legend',
      legend.map(([kind, label]) =>
        h('li', kind && svg('svg', { viewBox: '0 0 12 12', ariaHidden: true }, mark(kind, 6, 6, 8)), label),
      ),
    ),
  );

  function laneLabel(index) {
    const y = TOP + (index + 1) * LANE;
    const isRest = index === LANES - 1 && lanes.length > LANES;
    const title = isRest ? `${lanes.length - LANES + 1} more` : laneTitle(lanes[index]);
    return [svg('line', { class: 'axis', x1: LEFT, x2: WIDTH, y1: y, y2: y }), svg('text', { y: y - 5 }, title.slice(0, 22))];
  }

  function tick(part) {
    const at = from + part * span;
    const text = span > DAY ? fullTime(at).replace(/,? \d\d?:.*/, '') : span < DAY / 288 ? seconds(at) : time(at);
    return svg(
      'text',
      { x: x(at), y: height - 4, 'text-anchor': ['start', 'middle', 'end'][Math.ceil(part - 0.01) + Math.floor(part)] },
      text,
    );
  }

  function bar({ lane, at, took = 0, waited, kind, title, open }) {
    const y = TOP + (Math.min(lanes.indexOf(lane), LANES - 1) + 0.5) * LANE;
    const left = x(at);
    const width = x(at + took) - left;
    const hatched = waited ? x(at + waited) - left : 0;
    return svg(
      'g',
      { onclick: open },
      svg('title', null, title),
      width > 8 ? svg('rect', { class: `fill-${kind}`, x: left, y: y - 4, width, height: 8, rx: 2 }) : mark(kind, left, y, 7),
      hatched > 2 && svg('rect', { fill: 'url(#hatch)', x: left, y: y - 6, width: hatched, height: 12 }),
    );
  }

  function watchBrush() {
    let began = null;
    const place = (event) => {
      const { left, width } = picture.getBoundingClientRect();
      return ((event.clientX - left) / width) * WIDTH;
    };
    const end = () => {
      began = null;
      brush.setAttribute('width', 0);
    };
    picture.onpointerdown = (event) => {
      began = place(event);
    };
    picture.onpointermove = (event) => {
      if (began === null) return;
      brush.setAttribute('x', Math.min(began, place(event)));
      brush.setAttribute('width', Math.abs(place(event) - began));
    };
    picture.onpointerup = (event) => {
      const ends = [began, place(event)].sort((a, b) => a - b);
      const isDrag = began !== null && ends[1] - ends[0] > 10;
      end();
      if (isDrag) zoom(...ends.map((each) => new Date(from + ((each - LEFT) / (WIDTH - LEFT - 10)) * span).toISOString()));
    };
    picture.onpointerleave = end;
  }
}

/** A circle for success and what comes, a diamond for failures, a square for the rest. */
function mark(kind, x, y, size) {
  const half = size / 2;
  if (kind === 'ok' || kind === 'next') return svg('circle', { class: `fill-${kind}`, cx: x, cy: y, r: half });
  const turn = kind === 'fail' ? `rotate(45 ${x} ${y})` : null;
  return svg('rect', { class: `fill-${kind}`, x: x - half, y: y - half, width: size, height: size, transform: turn });
}
