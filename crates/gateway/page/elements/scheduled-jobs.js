// Scheduled jobs: a timeline of their runs, what comes next, and buttons to run, pause and remove each.

import { api } from '../api.js';
import { h, insertRendered, svg } from '../dom.js';
import { duration, fullTime, when } from '../format.js';
import { act } from '../notices.js';
import { href } from '../router.js';
import { store } from '../store.js';
import { empty, load, table } from './page.js';

const LOOKS = { ok: 'ok', failed: 'fail', skipped: '', running: 'accent', waiting: 'ask' };
const DELIVERIES = { delivered: 'ok', not_delivered: 'fail', unknown: 'ask', pending: 'accent', sending: 'accent' };
const ICONS = { ok: '✓', failed: '✗', skipped: '–', running: '▶', waiting: '…' };
const WIDTH = 1000;
const LEFT = 150;
const LANE = 20;
const MOST_LANES = 10;

/** Adds the section to the place; returns what stops it. */
export function scheduledJobs(body) {
  const section = h('section.stack');
  body.append(h('h2', 'Scheduled jobs'), section);
  const reload = load(section, () => api.get('/api/automation'), draw);
  return store.on('changed:automation', () => reload());

  function draw({ jobs, runs, notices, running, zone, total }) {
    if (jobs.length === 0 && runs.length === 0) {
      return empty(
        'Nothing is scheduled. Ask the agent, for example "remind me every weekday at 9 to check the backups", and it is listed here.',
        'Ask the agent',
        href('chat'),
      );
    }
    return [
      !running && h('p.call-error.ask', '! No server runs these jobs now.'),
      notices.length > 0 && noticeList(notices),
      timeline(jobs, runs),
      jobs.map((job) => jobBox(job, reload)),
      total > jobs.length && h('p.muted', `${total - jobs.length} more jobs: haft cron list`),
      h('small', `Times of schedules are in their own zone; yours is ${zone}.`),
      h('h3', 'Runs'),
      runTable(runs),
    ];
  }
}

function noticeList(notices) {
  return h(
    'details.box',
    h('summary', `${notices.length} notices`),
    h(
      'ul',
      notices.map((notice) => h('li', h('small', `${when(notice.at)} `), notice.text)),
    ),
  );
}

function jobBox(job, reload) {
  const path = `/api/automation/${encodeURIComponent(job.id)}`;
  const button = (label, action, kind = '') => {
    const element = h(
      'button',
      {
        class: kind,
        'aria-label': `${label} ${job.name}`,
        onclick: () =>
          act(element, async () => {
            await action();
            reload();
          }),
      },
      label,
    );
    return element;
  };
  return h(
    'section.box',
    { 'aria-label': job.name },
    h(
      'div.row',
      h('strong.grow.title', job.name),
      h('span', { class: `badge ${job.enabled ? 'ok' : ''}` }, job.enabled ? 'on' : 'off'),
      job.last_run && runBadge(job.last_run),
      store.can('admin') && [
        button('Run now', () => api.post(`${path}/run`, {})),
        job.enabled
          ? button('Turn off', () => api.patch(path, { enabled: false }))
          : button('Turn on', () => api.patch(path, { enabled: true })),
        button('Remove', () => api.delete(path), 'danger'),
      ],
    ),
    h('div', job.words),
    job.disabled_because && h('p.call-error', `Turned off: ${job.disabled_because}.`),
    job.next_runs.length > 0 && h('small', `Next: ${job.next_runs.join(' · ')}`),
    h('small', job.message),
  );
}

function runBadge(run) {
  return h('span', { class: `badge ${LOOKS[run.state] ?? ''}` }, `${ICONS[run.state] ?? ''} ${run.state}`);
}

function runTable(runs) {
  if (runs.length === 0) return h('p.muted', 'Nothing has run yet.');
  const took = (run) => (run.started && run.ended ? duration(new Date(run.ended) - new Date(run.started)) : '');
  const delivery = (run) =>
    run.delivery === 'not_requested'
      ? ''
      : h(
          'span',
          { class: `badge ${DELIVERIES[run.delivery] ?? ''}`, title: run.delivery_note ?? '' },
          run.delivery.replaceAll('_', ' '),
        );
  const result = (run) =>
    run.error
      ? h('span.muted', run.error)
      : run.answer_html && h('details', h('summary', 'Result'), insertRendered(h('div.rendered'), run.answer_html));
  return table(
    [
      ['Due', (run) => h('span', { title: fullTime(run.due) }, when(run.due))],
      ['Job', (run) => (run.session ? h('a', { href: href('chat', run.session) }, run.name) : run.name)],
      ['State', runBadge],
      ['Took', took, 'number'],
      ['Delivery', delivery],
      ['Result', result],
    ],
    runs.slice(0, 50),
    'Runs of scheduled jobs',
  );
}

/** A lane for each job: what has run, and what comes next. */
function timeline(jobs, runs) {
  const coming = jobs.filter((job) => job.next).map((job) => ({ name: job.name, at: new Date(job.next).getTime(), state: 'next' }));
  const past = runs.map((run) => ({ name: run.name, at: new Date(run.due).getTime(), state: run.state }));
  const marks = [...past, ...coming];
  if (marks.length === 0) return false;
  const now = Date.now();
  const from = Math.min(now - 3600e3, ...past.map((mark) => mark.at));
  const until = Math.max(now + 3600e3, ...coming.map((mark) => Math.min(mark.at, now + 7 * 86400e3)));
  const names = [...new Set(marks.map((mark) => mark.name))].slice(0, MOST_LANES);
  const height = names.length * LANE + 24;
  const x = (at) => LEFT + ((Math.min(at, until) - from) / (until - from)) * (WIDTH - LEFT - 16);
  const y = (name) => names.indexOf(name) * LANE + 14;
  const label = `Timeline: ${past.length} runs since ${fullTime(from)}, ${coming.length} to come`;
  return h(
    'div.timeline',
    svg(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${height}`, role: 'img', 'aria-label': label },
      names.map((name) => svg('text', { x: 4, y: y(name) + 4, class: 'lane' }, name.slice(0, 22))),
      svg('line', { x1: x(now), x2: x(now), y1: 0, y2: height - 16, stroke: 'currentColor', 'stroke-dasharray': '2 3' }),
      svg('text', { x: x(now) - 12, y: height - 4 }, 'now'),
      marks
        .filter((mark) => names.includes(mark.name))
        .map((mark) =>
          svg(
            'g',
            null,
            svg('title', null, `${mark.name}: ${mark.state}, ${fullTime(mark.at)}`),
            mark.state === 'next'
              ? svg('circle', { cx: x(mark.at), cy: y(mark.name), r: 5, fill: 'none', stroke: 'var(--accent)', 'stroke-width': 2 })
              : svg('circle', { cx: x(mark.at), cy: y(mark.name), r: 5, fill: COLOURS[mark.state] ?? 'var(--muted)' }),
          ),
        ),
    ),
  );
}

const COLOURS = { ok: 'var(--ok)', failed: 'var(--fail)', skipped: 'var(--muted)', running: 'var(--accent)', waiting: 'var(--ask)' };
