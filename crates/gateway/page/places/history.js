// Every call that ever happened: filters in the address, a timeline, rows, and the whole card of one.

import {
  api,
  button,
  CALL_STATES,
  callLook,
  control,
  dialog,
  duration,
  empty,
  fill,
  fullTime,
  go,
  h,
  href,
  isOpen,
  joined,
  later,
  link,
  load,
  mono,
  pathTo,
  plural,
  replace,
  report,
  select,
  small,
  stateMark,
  store,
  when,
} from '../core.js';
import { openCard } from '../elements/call-detail.js';
import { download } from '../elements/session-actions.js';
import { timeline } from '../elements/timeline.js';
import '../elements/virtual-list.js';

const PAGE = 200;
const FIELDS = ['text', 'tool', 'status', 'verdict', 'agent', 'session', 'path', 'host', 'rule', 'since', 'until'];

const TIMES = [
  [3_600_000, 'last hour'],
  [86_400_000, 'last day'],
  [604_800_000, 'last week'],
];

const filtersOf = ({ query }) => Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? '']));

export default function mount(root, first) {
  let filters = filtersOf(first);
  let calls = [];
  let before = null;
  let isLoading = false;
  let turn = 0;
  const plot = h('div');
  const PLOT = {
    what: 'call',
    laneTitle: (id) => (id ? store.sessions.get(id)?.title || 'New session' : 'outside of sessions'),
    legend: [
      ['ok', 'done'],
      ['fail', 'failed or denied'],
      ['ask', 'stopped'],
      ['', 'hatched: waited for you · drag to zoom · click a bar for its call'],
    ],
    zoom: (since, until) => set({ since, until }),
  };
  const bar = h('div.filters');
  const count = small({ role: 'status' });
  const list = h('haft-list', { tabindex: 0, 'data-label': 'Calls' });
  const nothing = h('div');
  list.setup({ key: (call) => call.record ?? call.id, estimate: () => 35, render: row });
  list.addEventListener('viewchange', () => list.scrollHeight - list.scrollTop - list.clientHeight < 800 && more());
  fill(
    root,
    h('header.place-head', h('h1', 'History'), count, button('Export as JSON lines', exportAll)),
    h('div.timeline', bar),
    plot,
    h(
      'div.history-row.head',
      { ariaHidden: true },
      ['When', 'State', 'Tool', 'About', 'Took'].map((name) => h('span', name)),
    ),
    nothing,
    list,
  );
  drawFilters();
  reload();
  if (first.id) openCall(first.id);
  const refreshSoon = later(() => list.scrollTop < 40 && reload(), 1000);
  return {
    update,
    get search() {
      return bar.querySelector('input');
    },
    stops: [store.on('calls', (call) => !isOpen(call) && refreshSoon()), store.on('reset', reload), refreshSoon.stop],
  };

  function update(to) {
    const next = filtersOf(to);
    if (JSON.stringify(next) !== JSON.stringify(filters)) {
      filters = next;
      drawFilters();
      reload();
    }
    if (to.id) openCall(to.id);
    return true;
  }

  function drawFilters() {
    const input = (name, label, attributes = {}) =>
      control(
        label,
        h('input', { value: filters[name], size: 9, onchange: (event) => set({ [name]: event.target.value.trim() }), ...attributes }),
      );
    const states = [
      ['', 'any'],
      ['failed', 'all failures'],
      ...CALL_STATES.filter((state) => !isOpen({ state })).map((state) => [state, callLook({ state }).word]),
    ];
    const session = filters.session && store.sessions.get(filters.session);
    fill(
      bar,
      input('text', 'Text', { type: 'search' }),
      input('tool', 'Tool'),
      control(
        'State',
        select(states, filters.status, (status) => set({ status })),
      ),
      control(
        'Decision',
        select([['', 'any'], ['allow'], ['ask'], ['deny']], filters.verdict, (verdict) => set({ verdict })),
      ),
      control(
        'Time',
        select([['', filters.since ? 'chosen' : 'any'], ...TIMES], '', (span) =>
          set({ since: span && new Date(Date.now() - span).toISOString(), until: '' }),
        ),
      ),
      input('path', 'Path'),
      input('host', 'Host'),
      input('agent', 'Agent'),
      filters.session &&
        button(`session: ${session?.title || filters.session.slice(0, 8)} ×`, () => set({ session: '' })),
      filters.rule && button(`covered by ${filters.rule} ×`, () => set({ rule: '' })),
      (filters.since || filters.until) &&
        button(`${when(filters.since)} – ${when(filters.until) || 'now'} ×`, () => set({ since: '', until: '' })),
      Object.values(filters).some(Boolean) && button('Clear', () => go('history')),
    );
  }

  function set(change) {
    filters = { ...filters, ...change };
    replace('history', null, filters);
    drawFilters();
    reload();
  }

  async function reload() {
    turn += 1;
    before = null;
    isLoading = false;
    await more(true);
  }

  async function more(isFirst = false) {
    if (isLoading || (!isFirst && !before)) return;
    isLoading = true;
    const mine = turn;
    try {
      const answer = await api.get('/api/history', { ...filters, limit: PAGE, before });
      if (mine !== turn) return;
      calls = isFirst ? answer.calls : [...calls, ...answer.calls];
      before = answer.before;
      draw();
    } catch (error) {
      report(error);
    } finally {
      if (mine === turn) isLoading = false;
    }
  }

  function draw() {
    list.items = calls;
    count.textContent = before ? `${calls.length}+ calls` : plural(calls.length, 'call');
    fill(plot, timeline(calls.filter((call) => call.started).map(entryOf), PLOT));
    const isFiltered = Object.values(filters).some(Boolean);
    fill(
      nothing,
      calls.length === 0 &&
        (isFiltered
          ? empty('No call matches these filters.', 'Clear the filters', href('history'))
          : empty(
              'Nothing has been called yet. Each call is kept here with its decision, diff and undo.',
              'Ask the agent to read a file',
              href('chat', null, { text: 'read README.md' }),
            )),
    );
    nothing.hidden = calls.length > 0;
  }

  function entryOf(call) {
    const { word, kind } = callLook(call);
    return {
      lane: store.sessions.has(call.session) ? call.session : '',
      at: new Date(call.started).getTime(),
      took: call.duration_ms ?? 0,
      waited: call.waited_ms,
      kind: kind || 'none',
      title: `${word}: ${call.tool} ${call.title ?? ''} · ${duration(call.duration_ms)} · ${fullTime(call.started)}`,
      open: () => openCall(call.record),
    };
  }

  function row(call, element) {
    const line = element ?? h('div.history-row', { tabindex: 0 });
    line.onclick = () => openCall(call.record);
    line.onkeydown = (event) => event.key === 'Enter' && openCall(call.record);
    return fill(
      line,
      h('span.when', { title: fullTime(call.started) }, when(call.started)),
      stateMark(callLook(call), true),
      mono(call.tool),
      h('span.target', joined([call.title, call.outcome])),
      h('span.took', duration(call.duration_ms)),
    );
  }

  function openCall(record) {
    if (!record || document.querySelector('dialog[open]')) return;
    const body = h('div');
    const session = calls.find((call) => call.record === record)?.session;
    replace('history', record, filters);
    dialog('Call', [body, session && link('Open its session', href('chat', session))], [], {
      closeLabel: 'Close',
      className: 'wide',
      onclose: () => location.hash.startsWith('#/history') && replace('history', null, filters),
    });
    load(body, () => api.get(pathTo('history', record)), openCard);
  }

  async function exportAll() {
    while (before && calls.length < 100_000) await more();
    download('history.jsonl', calls.map((call) => JSON.stringify(call)).join('\n'));
  }
}
