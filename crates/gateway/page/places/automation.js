// Scheduled jobs, and commands that run in the background.

import {
  api,
  badge,
  button,
  bytes,
  empty,
  fullTime,
  h,
  href,
  inRow,
  isAdmin,
  link,
  load,
  page,
  pathTo,
  renderedOutput,
  small,
  store,
} from '../core.js';
import { scheduledJobs } from '../elements/scheduled-jobs.js';

/** How often what runs is looked at: its output and its memory change. */
const PAUSE = 5000;

export default function mount(root) {
  let isAnyRunning = false;
  const body = page(root, 'Automation');
  const stopJobs = scheduledJobs(body);
  const processes = h('section.stack');
  body.append(h('h2', 'Background processes'), processes);
  const reload = load(
    processes,
    () => api.get('/api/jobs'),
    ({ jobs }) => {
      isAnyRunning = jobs.some(({ state }) => state === 'running');
      return jobs.length
        ? jobs.map(job)
        : empty(
            'No command runs in the background. What the agent starts there is listed here and can be ended with all its descendants.',
            'Ask the agent to start one',
            href('chat', null, { text: 'run `sleep 120`' }),
          );
    },
  );
  const timer = setInterval(() => isAnyRunning && !document.hidden && reload(), PAUSE);
  return { stops: [stopJobs, store.on('changed:jobs', reload), () => clearInterval(timer)] };

  function job(each) {
    const isRunning = each.state === 'running';
    const output = renderedOutput(each.tail_html);
    queueMicrotask(() => (output.scrollTop = output.scrollHeight));
    const kill = () => api.delete(pathTo('jobs', each.id)).then(reload);
    return h(
      'section.box',
      { label: each.command },
      inRow(
        h('code.grow.title', each.command),
        badge(each.end ?? each.state, isRunning && 'ok'),
        isRunning && h('span.muted', { 'data-started': each.started }),
        each.memory_bytes != null && small(`${bytes(each.memory_bytes)} in memory`),
        each.pid && small(`pid ${each.pid}`),
        isRunning && isAdmin() && button('Kill with all descendants', kill, 'danger'),
      ),
      output,
      small(`Started ${fullTime(each.started)}. `, each.session && link('Open its session', href('chat', each.session))),
    );
  }
}
