// Scheduled jobs, and commands that run in the background.

import {
  api,
  badge,
  button,
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

export default function mount(root) {
  const body = page(root, 'Automation');
  const stopJobs = scheduledJobs(body);
  const processes = h('section.stack');
  body.append(h('h2', 'Background processes'), processes);
  const reload = load(
    processes,
    () => api.get('/api/jobs'),
    ({ jobs }) =>
      jobs.length
        ? jobs.map(job)
        : empty(
            'No command runs in the background. A command that the agent starts in the background is listed here and can be ended with all its descendants.',
            'Ask the agent to start one',
            href('chat', null, { text: 'run `sleep 120` in the background' }),
          ),
  );
  return { stops: [stopJobs, store.on('changed:jobs', reload)] };

  function job(each) {
    const isRunning = each.state === 'running';
    const kill = () => api.delete(pathTo('jobs', each.id)).then(reload);
    return h(
      'section.box',
      { label: each.command },
      inRow(
        h('code.grow', each.command),
        badge(each.end ?? each.state, isRunning && 'ok'),
        isRunning && h('span.muted', { 'data-started': each.started }),
        each.pid && small(`pid ${each.pid}`),
        isRunning && isAdmin() && button('Kill with all descendants', kill, 'danger'),
      ),
      renderedOutput(each.tail_html),
      small(`Started ${fullTime(each.started)}. `, each.session && link('Open its session', href('chat', each.session))),
    );
  }
}
