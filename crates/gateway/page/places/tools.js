// All tools: who has them and why not, a form to call one, its schema as each provider gets it, the trace of the policy.

import {
  actionButton,
  agentSelect,
  api,
  copy,
  duration,
  empty,
  explanation,
  figureList,
  fill,
  h,
  href,
  load,
  pathTo,
  problem,
  replace,
  route,
  select,
  store,
  tabs,
} from '../core.js';
import '../elements/call.js';
import { openCard } from '../elements/call-detail.js';
import { schemaTab } from '../elements/schema-view.js';
import { SchemaForm } from '../elements/schema-form.js';

export function mount(root, first) {
  let tools = [];
  let current = first;
  let agent = first.query.get('agent') || store.me.agent;
  const search = h('input', {
    type: 'search',
    placeholder: 'Search tools (/)',
    'aria-label': 'Search tools',
    class: 'grow',
    oninput: drawList,
  });
  const source = h('div');
  const list = h('div.tool-list');
  const count = h('small', { role: 'status' });
  const detail = h('section.detail', { 'aria-label': 'Tool' });
  const box = h(
    'div.split',
    h(
      'div.side',
      h('div.side-head.stack', h('div.row', h('h1.grow', 'Tools'), agentSelect(agent, choose)), h('div.row', search, source), count),
      list,
    ),
    detail,
  );
  let kind = '';
  fill(root, box);
  const reload = load(
    list,
    () => api.get('/api/tools', { agent }),
    (answer) => {
      tools = answer.tools;
      queueMicrotask(update);
      return [];
    },
  );
  return {
    update: (to) => {
      current = to;
      update();
      return true;
    },
    stops: [store.on('changed:tools', reload)],
    search,
  };

  function choose(name) {
    agent = name;
    reload();
  }

  function update() {
    const sources = [...new Set(tools.map((tool) => tool.source))];
    fill(
      source,
      sources.length > 1 &&
        select(
          [['', 'all sources'], ...sources.map((name) => [name])],
          kind,
          (value) => {
            kind = value;
            drawList();
          },
          { 'aria-label': 'Source' },
        ),
    );
    drawList();
    box.classList.toggle('has-detail', Boolean(current.id));
    const tool = tools.find(({ name, aliases }) => name === current.id || aliases?.includes(current.id));
    if (tool) fill(detail, toolDetail(tool, agent, current.query));
    else
      fill(
        detail,
        current.id
          ? empty(`There is no tool '${current.id}'.`, 'All tools', href('tools'))
          : empty('Choose a tool to see what it takes, to try it, and to learn why an agent has it or not.'),
      );
  }

  function drawList() {
    const words = search.value.toLowerCase();
    const found = tools.filter(
      (tool) => (!kind || tool.source === kind) && `${tool.name} ${tool.description} ${tool.aliases}`.toLowerCase().includes(words),
    );
    const sections = Map.groupBy(found, (tool) => (tool.source === 'built-in' ? tool.section : tool.source));
    count.textContent = `${found.length} of ${tools.length} tools · ${tools.filter((tool) => tool.offered).length} offered to ${agent}`;
    fill(
      list,
      [...sections].map(([name, members]) => [h('h3', name), members.map(line)]),
      found.length === 0 && empty('No tool matches.'),
    );
  }

  function line(tool) {
    return h(
      'a.tool-item',
      { href: href('tools', tool.name, { agent }), 'aria-current': tool.name === current.id ? 'true' : null },
      h(
        'span',
        { class: `state ${tool.offered ? 'ok' : 'muted'}` },
        tool.offered ? '✓' : '–',
        h('span.visually-hidden', tool.offered ? ' offered' : ' not offered'),
      ),
      h('span.name', tool.name),
      h('span.badge', tool.access),
      h('span.about', tool.offered ? tool.description : tool.reason),
    );
  }
}

function toolDetail(tool, agent, query) {
  let values = {};
  try {
    values = JSON.parse(query.get('arguments') ?? '{}');
  } catch {
    /* A broken link: the form starts empty. */
  }
  const form = new SchemaForm(tool.parameters, values);
  const entries = [
    { name: 'call', label: 'Call', build: () => callTab(tool, agent, form) },
    { name: 'explain', label: 'Explain', build: () => explainTab(tool, agent, form) },
    { name: 'schema', label: 'Schema', build: () => schemaTab(tool, agent) },
    { name: 'stats', label: 'Figures', build: () => statistics(tool) },
  ];
  const { list, panel } = tabs(tool.name, entries, {
    selected: query.get('tab') ?? 'call',
    onSelect: (tab) => {
      if (route().id === tool.name)
        replace('tools', tool.name, { agent, tab: tab === 'call' ? '' : tab, arguments: query.get('arguments') });
    },
  });
  return h(
    'div.stack',
    h(
      'div.row',
      h('a.button', { href: href('tools') }, '‹ All'),
      h('h1', h('code', tool.name)),
      [tool.section, tool.access, `${tool.timeout_s} s`, tool.source].map((text) => h('span.badge', text)),
      tool.aliases?.length > 0 && h('small', `also: ${tool.aliases.join(', ')}`),
    ),
    h('p', tool.description),
    !tool.offered && h('p.call-error.ask', `! Not offered to ${agent}: ${tool.reason ?? ''}`),
    list,
    panel,
  );
}

function callTab(tool, agent, form) {
  const output = h('div.stack', { 'aria-live': 'polite' });
  const mayRun = tool.invocable && store.can('admin');
  const run = actionButton('Run', invoke, { class: 'primary', disabled: !mayRun, title: 'Run (Ctrl-Enter)' });
  const explain = actionButton('Explain first', async () => fill(output, explanation(await ask(tool, agent, form.values))));
  const curl = () =>
    `curl -H "Authorization: Bearer $HAFT_TOKEN" -H 'content-type: application/json' ${location.origin}${pathTo('tools', tool.name, '/invoke')} -d ${quote(JSON.stringify({ agent, arguments: form.values }))}`;

  async function invoke() {
    if (form.hasWrongJson) return;
    form.showProblem('');
    fill(output, h('p.muted', 'Running…'));
    try {
      const call = await api.post(pathTo('tools', tool.name, '/invoke'), { agent, arguments: form.values, request: crypto.randomUUID() });
      fill(output, openCard(call));
      if (call.error_type === 'validation_error') form.showProblem(call.message);
    } catch (error) {
      if (error.type === 'validation_error') form.showProblem(error.message);
      fill(output, problem(error));
    }
  }

  return h(
    'div.stack',
    { onkeydown: (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && mayRun && run.click() },
    form.element,
    h(
      'div.row',
      form.toggle,
      h('span.grow'),
      h('button', { onclick: () => copy(`haft call ${tool.name} ${quote(JSON.stringify(form.values))}`) }, 'Copy as command'),
      h('button', { onclick: () => copy(curl()) }, 'Copy as curl'),
      explain,
      run,
    ),
    !tool.invocable &&
      h(
        'p.muted',
        `${tool.name} cannot be run from the page. Ask the agent for it in the chat, or run it with \`haft call ${tool.name}\`.`,
      ),
    output,
  );
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const ask = (tool, agent, values) => api.post(pathTo('tools', tool.name, '/explain'), { agent, arguments: values });

function explainTab(tool, agent, form) {
  const result = h('div');
  const other = (store.me.agents ?? []).filter((name) => name !== agent);
  const hasValues = Object.keys(form.values).length > 0;
  const request = (who) => ask(tool, who, hasValues ? form.values : undefined);
  load(result, () => request(agent), explanation);
  const second = h('div');
  return h(
    'div.stack',
    h(
      'p.muted',
      hasValues
        ? ['With these arguments: ', h('code', JSON.stringify(form.values))]
        : `Is ${tool.name} offered to ${agent} at all? Fill in the form under Call to ask about one call.`,
    ),
    other.length > 0 &&
      select(
        [['', 'Compare with another agent…'], ...other.map((name) => [name])],
        '',
        (name) => name && load(second, () => request(name), explanation),
        { 'aria-label': 'Compare with' },
      ),
    h('div.columns', result, second),
  );
}

async function statistics(tool) {
  const { tools } = await api.get('/api/usage', { days: 30 });
  const row = tools.find((each) => each.tool === tool.name);
  if (!row) return empty(`${tool.name} was not called in the last 30 days.`, 'Ask the agent to use it', href('chat'));
  const figures = [
    ['calls', row.calls],
    ['failed', `${row.errors} (${Math.round((100 * row.errors) / row.calls)} %)`],
    ['half are faster than', duration(row.p50_ms)],
    ['95 of 100 are faster than', duration(row.p95_ms)],
  ];
  return figureList(figures);
}
