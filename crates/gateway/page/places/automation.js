// Scheduled jobs, and commands that run in the background.

import { api } from '../api.js';
import { h, insertRendered } from '../dom.js';
import { fullTime } from '../format.js';
import { act } from '../notices.js';
import { href } from '../router.js';
import { store } from '../store.js';
import { empty, load, page } from '../elements/page.js';
import { scheduledJobs } from '../elements/scheduled-jobs.js';

export function mount(root) {
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
            href('chat'),
          ),
  );
  const stopProcesses = store.on('changed:jobs', () => reload());
  return {
    unmount: () => {
      stopJobs();
      stopProcesses();
    },
  };

  function job(each) {
    const isRunning = each.state === 'running';
    const kill = h(
      'button.danger',
      {
        onclick: () =>
          act(kill, async () => {
            await api.delete(`/api/jobs/${encodeURIComponent(each.id)}`);
            reload();
          }),
      },
      'Kill with all descendants',
    );
    return h(
      'section.box',
      { 'aria-label': each.command },
      h(
        'div.row',
        h('code.grow', each.command),
        h('span', { class: `badge ${isRunning ? 'ok' : ''}` }, each.end ?? each.state),
        isRunning && h('span.muted', { 'data-started': each.started }),
        each.pid && h('small', `pid ${each.pid}`),
        isRunning && store.can('admin') && kill,
      ),
      each.tail_html ? insertRendered(h('div.output.rendered', { tabindex: 0 }), each.tail_html) : h('pre.output', each.tail ?? ''),
      h('small', `Started ${fullTime(each.started)}. `, each.session && h('a', { href: href('chat', each.session) }, 'Open its session')),
    );
  }
}
