// Calls over time: a lane for each session, a bar as long as the call took, shape and colour by its state.

import { fill, h, svg } from '../dom.js';
import { duration, fullTime, seconds, time } from '../format.js';
import { callLook } from '../states.js';
import { store } from '../store.js';

const LANES = 8;
const LANE = 18;
const TOP = 4;
const LEFT = 130;
const WIDTH = 1000;
const MOST_BARS = 1500;

/** `zoom(since, until)` is called when the user drags over a span, `open(call)` when a bar is chosen. */
export function timeline(calls, { zoom, open }) {
  const box = h('div.timeline');
  const shown = calls.filter((call) => call.started).slice(0, MOST_BARS);
  if (shown.length === 0) return box;
  const start = (call) => new Date(call.started).getTime();
  const from = Math.min(...shown.map(start));
  const span = Math.max(1000, Math.max(...shown.map((call) => start(call) + (call.duration_ms ?? 0))) - from);
  const sessions = [...new Set(shown.map((call) => call.session))];
  const lane = (call) => Math.min(sessions.indexOf(call.session), LANES - 1);
  const count = Math.min(sessions.length, LANES);
  const height = TOP + count * LANE + 20;
  const x = (at) => LEFT + ((at - from) / span) * (WIDTH - LEFT - 10);
  const brush = svg('rect', { class: 'brush', y: 0, height: height - 20, x: 0, width: 0 });
  const picture = svg(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${height}`,
      role: 'img',
      'aria-label': `Timeline: ${shown.length} calls from ${fullTime(from)} to ${fullTime(from + span)}`,
    },
    svg(
      'defs',
      null,
      svg(
        'pattern',
        { id: 'hatch', width: 4, height: 4, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
        svg('line', { y2: 4, class: 'stroke-waiting' }),
      ),
    ),
    Array.from({ length: count }, (_, at) => laneLabel(at)),
    [0, 0.25, 0.5, 0.75, 1].map((part) => tick(from + part * span)),
    shown.map((call) => bar(call)),
    brush,
  );
  watchBrush();
  const legend = h(
    'ul.legend',
    [
      ['success', 'done'],
      ['error', 'failed or denied'],
      ['cancelled', 'stopped'],
    ].map(([state, label]) => h('li', svg('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true' }, mark(state, 6, 6, 8)), label)),
    h('li.muted', `${shown.some((call) => call.waited_ms) ? 'hatched: waited for you · ' : ''}drag to zoom · click a bar for its call`),
  );
  return fill(box, picture, legend);

  function laneLabel(at) {
    const isRest = at === LANES - 1 && sessions.length > LANES;
    const title = isRest ? `${sessions.length - LANES + 1} more sessions` : store.sessions.get(sessions[at])?.title || 'session';
    return [
      svg('line', { class: 'axis', x1: LEFT, x2: WIDTH, y1: TOP + (at + 1) * LANE, y2: TOP + (at + 1) * LANE }),
      svg('text', { x: 0, y: TOP + at * LANE + 13 }, title.slice(0, 20)),
    ];
  }

  function tick(at) {
    return svg(
      'text',
      { x: x(at), y: height - 4, 'text-anchor': at === from ? 'start' : at === from + span ? 'end' : 'middle' },
      span > 86_400_000 ? fullTime(at).replace(/,? \d\d?:.*/, '') : span < 300_000 ? seconds(at) : time(at),
    );
  }

  function bar(call) {
    const y = TOP + lane(call) * LANE + LANE / 2;
    const left = x(start(call));
    const width = Math.max(0, x(start(call) + (call.duration_ms ?? 0)) - left);
    const waited = call.waited_ms ? x(start(call) + call.waited_ms) - left : 0;
    const group = svg(
      'g',
      { onclick: () => open(call) },
      svg(
        'title',
        null,
        `${callLook(call).word}: ${call.tool} ${call.title ?? ''} · ${duration(call.duration_ms)} · ${fullTime(call.started)}`,
      ),
      width > 8
        ? svg('rect', { class: `fill-${callLook(call).kind || 'none'}`, x: left, y: y - 4, width, height: 8, rx: 2 })
        : mark(call.state, left, y, 7),
      waited > 2 && svg('rect', { fill: 'url(#hatch)', x: left, y: y - 6, width: waited, height: 12 }),
    );
    return group;
  }

  function watchBrush() {
    let began = null;
    const at = (event) => ((event.clientX - picture.getBoundingClientRect().left) / picture.getBoundingClientRect().width) * WIDTH;
    picture.addEventListener('pointerdown', (event) => {
      began = at(event);
    });
    picture.addEventListener('pointermove', (event) => {
      if (began === null) return;
      brush.setAttribute('x', Math.min(began, at(event)));
      brush.setAttribute('width', Math.abs(at(event) - began));
    });
    picture.addEventListener('pointerup', (event) => {
      const ends = [began, at(event)].sort((a, b) => a - b).map((place) => from + ((place - LEFT) / (WIDTH - LEFT - 10)) * span);
      const isDrag = began !== null && Math.abs(at(event) - began) > 10;
      began = null;
      brush.setAttribute('width', 0);
      if (isDrag) zoom(...ends.map((end) => new Date(end).toISOString()));
    });
    picture.addEventListener('pointerleave', () => {
      began = null;
      brush.setAttribute('width', 0);
    });
  }
}

/** A circle for success, a cross-like diamond for failures, a square for the rest. */
function mark(state, x, y, size) {
  const { kind } = callLook({ state });
  const half = size / 2;
  if (kind === 'ok') return svg('circle', { class: 'fill-ok', cx: x, cy: y, r: half });
  const turn = kind === 'fail' ? `rotate(45 ${x} ${y})` : null;
  return svg('rect', { class: `fill-${kind || 'none'}`, x: x - half, y: y - half, width: size, height: size, transform: turn });
}
