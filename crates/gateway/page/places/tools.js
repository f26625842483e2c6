// All tools: who has them and why not, a form to call one, its schema as each provider gets it, the trace of the policy.

import {
  agentSelect,
  api,
  badge,
  button,
  copyButton,
  duration,
  empty,
  explanation,
  figureList,
  fill,
  h,
  href,
  inRow,
  inStack,
  isAdmin,
  joined,
  linkButton,
  load,
  mono,
  muted,
  pathTo,
  problem,
  replace,
  route,
  select,
  share,
  small,
  stateMark,
  store,
  tabs,
  warning,
} from '../core.js';
import '../elements/call.js';
import { openCard } from '../elements/call-detail.js';
import { schemaTab } from '../elements/schema-view.js';
import { schemaForm } from '../elements/schema-form.js';

export default function mount(root, first) {
  let tools = [];
  let current = first;
  let agent = first.query.get('agent') || store.me.agent;
  const search = h('input', {
    type: 'search',
    placeholder: 'Search tools (/)',
    label: 'Search tools',
    oninput: drawList,
  });
  const filters = inRow();
  const agents = agentSelect(agent, choose);
  const list = h('div.tool-list');
  const count = small({ role: 'status' });
  const detail = h('section.detail', { label: 'Tool' });
  const box = h(
    'div.split',
    h(
      'div.side',
      h('div.side-head.stack', inRow(h('h1.grow', 'Tools'), agents), search, filters, count),
      list,
    ),
    detail,
  );
  const wanted = { section: '', source: '', access: '' };
  /** The tool that is shown, and the form of its arguments: what the user typed stays when the tools change. */
  let shown = null;
  let form = null;
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
      shown = null;
      agents.value = agent = to.query.get('agent') || agent;
      reload();
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
    fill(
      filters,
      Object.keys(wanted).map((name) => {
        const set = (value) => {
          wanted[name] = value;
          drawList();
        };
        const values = [...new Set(tools.map((tool) => tool[name]))];
        return select([['', `any ${name}`], ...values.map((value) => [value])], wanted[name], set, { label: name });
      }),
    );
    drawList();
    box.classList.toggle('has-detail', Boolean(current.id));
    if (!current.id) fill(detail, empty('Choose a tool to see what it takes, to try it, and why an agent has it or not.'));
    else
      load(
        detail,
        () => api.get(pathTo('tools', current.id), { agent }),
        (tool) => {
          form = schemaForm(tool.parameters, tool.name === shown?.name ? form.values() : linkedValues(current.query));
          shown = tool;
          return toolDetail(tool, agent, route().query, form);
        },
      );
  }

  function drawList() {
    const words = search.value.toLowerCase();
    const found = tools.filter(
      (tool) =>
        Object.entries(wanted).every(([name, value]) => !value || tool[name] === value) &&
        `${tool.name} ${tool.description} ${tool.aliases}`.toLowerCase().includes(words),
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
      { href: href('tools', tool.name, { agent }), ariaCurrent: tool.name === current.id || null },
      stateMark(tool.offered ? { icon: '✓', word: 'offered', kind: 'ok' } : { icon: '–', word: 'not offered', kind: 'muted' }),
      h('span.name', tool.name),
      badge(tool.access),
      h('span.about', tool.offered ? tool.description : `hidden: ${stepText(tool)}`),
      h('small.offers', { title: 'offered to' }, tool.offered_to.join(' ')),
    );
  }
}

/** The step of the policy that hides a tool, and why. */
function stepText({ hidden_by: by, reason }) {
  return joined([by && `step ${by.number ?? ''} (${by.step})`, reason], ': ');
}

/** The arguments in an address; those of a broken link are none. */
function linkedValues(query) {
  try {
    return JSON.parse(query.get('arguments') ?? '{}');
  } catch {
    return {};
  }
}

function toolDetail(tool, agent, query, form) {
  const entries = [
    ['call', 'Call', () => callTab(tool, agent, form)],
    ['explain', 'Explain', () => explainTab(tool, agent, form)],
    ['schema', 'Schema', () => schemaTab(tool, agent)],
    ['stats', 'Figures', () => statistics(tool)],
  ];
  const { list, panel } = tabs(tool.name, entries, {
    selected: query.get('tab') ?? 'call',
    onSelect: (tab) => {
      if (route().id === tool.name)
        replace('tools', tool.name, { agent, tab: tab === 'call' ? '' : tab, arguments: query.get('arguments') });
    },
  });
  return inStack(
    inRow(
      linkButton('‹ All', href('tools')),
      h('h1', mono(tool.name)),
      [tool.section, tool.access, `${tool.timeout_s} s`, tool.source].map((text) => badge(text)),
      small(`Offered to: ${tool.offered_to.join(', ') || 'no agent'}`),
      tool.aliases?.length > 0 && small(`also: ${tool.aliases.join(', ')}`),
    ),
    h('p', tool.description),
    !tool.offered && warning(`Not offered to ${agent}: ${stepText(tool)}`),
    list,
    panel,
  );
}

function callTab(tool, agent, form) {
  const output = inStack({ ariaLive: 'polite' });
  const mayRun = tool.invocable && isAdmin();
  const run = button('Run', invoke, { class: 'primary', disabled: !mayRun, title: 'Run (Ctrl-Enter)' });
  const explain = button('Explain first', async () => fill(output, explanation(await ask(tool, agent, form.values()))));
  const curl = () =>
    `curl -H "Authorization: Bearer $HAFT_TOKEN" -H 'content-type: application/json' ${location.origin}${pathTo('tools', tool.name, '/invoke')} -d ${quote(JSON.stringify({ agent, arguments: form.values() }))}`;

  async function invoke() {
    if (!form.isValid()) return;
    form.showProblem('');
    fill(output, muted('Running…'));
    try {
      const call = await api.post(pathTo('tools', tool.name, '/invoke'), { agent, arguments: form.values(), request: crypto.randomUUID() });
      fill(output, openCard(call));
      if (call.error_type === 'validation_error') form.showProblem(call.message);
    } catch (error) {
      if (error.type === 'validation_error') form.showProblem(error.message);
      fill(output, problem(error));
    }
  }

  return inStack(
    { onkeydown: (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && mayRun && run.click() },
    form.element,
    inRow(
      form.toggle,
      h('span.grow'),
      copyButton(() => `haft call ${tool.name} ${quote(JSON.stringify(form.values()))}`, 'Copy as command'),
      copyButton(curl, 'Copy as curl'),
      explain,
      run,
    ),
    !tool.invocable &&
      muted(
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
  const hasValues = Object.keys(form.values()).length > 0;
  const request = (who) => ask(tool, who, hasValues ? form.values() : undefined);
  load(result, () => request(agent), explanation);
  const second = h('div');
  return inStack(
    muted(
      hasValues
        ? ['With these arguments: ', mono(JSON.stringify(form.values()))]
        : `Is ${tool.name} offered to ${agent} at all? Fill in the form under Call to ask about one call.`,
    ),
    other.length > 0 &&
      select(
        [['', 'Compare with another agent…'], ...other.map((name) => [name])],
        '',
        (name) => name && load(second, () => request(name), explanation),
        { label: 'Compare with' },
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
    ['failed', share(row.errors, row.calls)],
    ['half are faster than', duration(row.p50_ms)],
    ['95 of 100 are faster than', duration(row.p95_ms)],
  ];
  return figureList(figures);
}
