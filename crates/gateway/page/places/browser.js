// The browser of a session: what it shows now, with take-over by the user, and the steps of its recording.

import {
  api,
  empty,
  fill,
  fullTime,
  h,
  href,
  isOpen,
  later,
  link,
  linkButton,
  page,
  plural,
  sessionPath,
  setText,
  small,
  store,
  when,
} from '../core.js';
import { browserScreen } from '../elements/browser-screen.js';

export default function mount(root, { id, query }) {
  const title = store.sessions.get(id)?.title;
  const body = page(root, 'Browser', id && linkButton(title ? `Session: ${title}` : 'To its session', href('chat', id)));
  if (!id) {
    fill(body, empty('Open a session whose agent uses a browser.', 'To the chat', href('chat')));
    return {};
  }
  const screen = browserScreen(id);
  const count = small({ role: 'status' });
  const strip = h('ol.strip', { label: 'Recording' });
  fill(body, screen.element, h('h2', 'Recording ', count), strip);
  let wanted = query.get('call');
  // The picture of a step comes a moment after its call.
  const reloadSoon = later(reload, 700);
  let shown = '';
  reload();
  const stop = store.on('calls', (call) => call.session === id && call.tool === 'browser' && !isOpen(call) && reloadSoon());
  return { stops: [stop, screen.end, reloadSoon.stop] };

  async function reload() {
    const { steps } = await api.get(sessionPath(id, '/recording')).catch(() => ({ steps: [] }));
    setText(count, plural(steps.length, 'step'));
    const state = JSON.stringify(steps);
    if (state === shown) return;
    shown = state;
    fill(strip, steps.length ? steps.map(one) : h('li.muted', 'A recording begins when the agent opens a page.'));
    strip.querySelector('[aria-current]')?.scrollIntoView({ block: 'center' });
    wanted = null;
  }

  function one(step) {
    const path = sessionPath(id, `/recording/${step.number}`);
    return h(
      'li',
      { ariaCurrent: step.call === wanted ? 'step' : null },
      step.has_picture
        ? link(h('img', { src: path, loading: 'lazy', alt: `After: ${step.action}` }), path, { target: '_blank', rel: 'noopener' })
        : h('div.muted', 'no picture'),
      h('strong', `${step.number}. `, step.action),
      !step.is_done && h('span.state.fail', '✗ ', step.outcome),
      small(step.url),
      small({ title: fullTime(step.at) }, when(step.at)),
      link('Its call', href('chat', id, { call: step.call })),
    );
  }
}
