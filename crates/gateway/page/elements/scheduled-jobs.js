// Scheduled jobs: a timeline of their runs, what comes next, and buttons to run, pause and remove each.

import {
  api,
  badge,
  button,
  deliveryBadge,
  duration,
  empty,
  fullTime,
  h,
  href,
  inRow,
  isAdmin,
  link,
  load,
  muted,
  pathTo,
  rendered,
  small,
  store,
  table,
  warning,
  when,
} from '../core.js';
import { timeline } from './timeline.js';

const LOOKS = { ok: ['✓', 'ok'], failed: ['✗', 'fail'], skipped: ['–'], running: ['▶', 'accent'], waiting: ['…', 'ask'] };
const SOON = 7 * 86_400_000;

/** Adds the section to the place; returns what stops it. */
export function scheduledJobs(body) {
  const section = h('section.stack');
  body.append(h('h2', 'Scheduled jobs'), section);
  const reload = load(section, () => api.get('/api/automation'), draw);
  return store.on('changed:automation', reload);

  function draw({ jobs, runs, notices, running, zone, total }) {
    if (jobs.length === 0 && runs.length === 0) {
      return empty(
        'Nothing is scheduled. Ask the agent, for example "remind me every weekday at 9 to check the backups", and it is listed here.',
        'Ask the agent',
        href('chat', null, { text: 'remind me every weekday at 9 to check the backups' }),
      );
    }
    return [
      !running && warning('No server runs these jobs now. Start `haft serve` here.'),
      notices.length > 0 && noticeList(notices),
      timeline([...runs.map(pastRun), ...jobs.filter((job) => job.next).map(nextRun)], {
        what: 'run',
        legend: [
          ['ok', 'done'],
          ['fail', 'failed'],
          ['next', 'comes next'],
          ['', 'line: now'],
        ],
        now: Date.now(),
      }),
      jobs.map((job) => jobBox(job, reload)),
      total > jobs.length && muted(`${total - jobs.length} more jobs: haft cron list`),
      small(`Times of schedules are in their own zone; yours is ${zone}.`),
      h('h3', 'Runs'),
      runs.length ? runTable(runs.slice(0, 50)) : muted('Nothing has run yet.'),
    ];
  }
}

const time = (text) => new Date(text).getTime();

function pastRun({ name, due, state }) {
  return { lane: name, at: time(due), kind: LOOKS[state]?.[1] ?? 'none', title: `${name}: ${state}, ${fullTime(due)}` };
}

function nextRun({ name, next }) {
  return { lane: name, at: Math.min(time(next), Date.now() + SOON), kind: 'next', title: `${name}: next, ${fullTime(next)}` };
}

function noticeList(notices) {
  const lines = notices.map((notice) => h('li', small(`${when(notice.at)} `), notice.text));
  return h('details.box', h('summary', `${notices.length} notices`), h('ul', lines));
}

function jobBox(job, reload) {
  const path = pathTo('automation', job.id);
  const change = (label, action, attributes) =>
    button(label, () => action().then(reload), { label: `${label} ${job.name}`, ...attributes });
  return h(
    'section.box',
    { label: job.name },
    inRow(
      h('strong.grow.title', job.name),
      badge(job.enabled ? 'on' : 'off', job.enabled && 'ok'),
      job.last_run && runBadge(job.last_run),
      isAdmin() && [
        change('Run now', () => api.post(`${path}/run`)),
        change(job.enabled ? 'Turn off' : 'Turn on', () => api.patch(path, { enabled: !job.enabled }), { 'data-focus': job.id }),
        change('Remove', () => api.delete(path), { class: 'danger' }),
      ],
    ),
    h('div', job.words),
    job.disabled_because && h('p.call-error', `Turned off: ${job.disabled_because}.`),
    job.next_runs.length > 0 && small(`Next: ${job.next_runs.join(' · ')}`),
    small(job.message),
  );
}

function runBadge({ state }) {
  const [icon = '', kind] = LOOKS[state] ?? [];
  return badge(`${icon} ${state}`, kind);
}

function delivery({ delivery: word, delivery_note: note }) {
  return word !== 'not_requested' && deliveryBadge(word, note);
}

function result(run) {
  if (run.error) return h('span.muted', run.error);
  return run.answer_html && h('details', h('summary', 'Result'), rendered(run.answer_html));
}

function runTable(runs) {
  return table(
    [
      ['Due', (run) => h('span', { title: fullTime(run.due) }, when(run.due))],
      ['Job', (run) => (run.session ? link(run.name, href('chat', run.session)) : run.name)],
      ['State', runBadge],
      ['Took', (run) => run.started && run.ended && duration(time(run.ended) - time(run.started)), 'number'],
      ['Delivery', delivery],
      ['Result', result],
    ],
    runs,
    'Runs of scheduled jobs',
  );
}
