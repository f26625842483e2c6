// Agents: model, prompt, profile, access, and check boxes for the tools, with the effective result and the change of the file before it is
// saved.

import {
  api,
  badge,
  button,
  checkbox,
  fill,
  h,
  href,
  inRow,
  inStack,
  isAdmin,
  keepFocus,
  later,
  linkButton,
  load,
  mono,
  muted,
  pathTo,
  plural,
  rendered,
  select,
  setText,
  small,
  store,
  toast,
  uniqueId,
} from '../core.js';
import { undoSave } from '../elements/change.js';

export default function mount(root, first) {
  const cards = h('div.tool-list');
  const detail = h('section.detail', { label: 'Agent' });
  const box = h('div.split', h('div.side', h('div.side-head', h('h1', 'Agents')), cards), detail);
  let current = null;
  fill(root, box);
  const reload = load(
    cards,
    () => api.get('/api/agents'),
    ({ agents }) => agents.map(card),
  );
  show(first);
  return {
    update: (to) => {
      reload();
      show(to);
      return true;
    },
    stops: [store.on('changed:agents', reload)],
  };

  function card({ name, active, access, model, tools }) {
    return h(
      'a.tool-item',
      { href: href('agents', name), ariaCurrent: name === current || null },
      h('span', { title: active ? 'the agent of this server' : '' }, active ? '●' : '○'),
      h('span.name', name),
      badge(access ?? 'default'),
      h('span.about', `${model ?? 'default model'} · ${tools.offered} of ${tools.total} tools offered`),
    );
  }

  function show({ id }) {
    current = id ?? store.me.agent;
    box.classList.toggle('has-detail', Boolean(id));
    load(
      detail,
      () => api.get(pathTo('agents', current)),
      (agent) => editor(agent, () => show({ id })),
    );
  }
}

function editor(agent, reload) {
  /** What the user changed: the name of a tool, and whether it is ticked. */
  const changes = new Map();
  /** Keys of its table that the user changed. */
  const keys = {};
  const length = small({ role: 'status' });
  const result = h('aside.box.stuck', { ariaLive: 'polite' });
  const search = h('input', { type: 'search', placeholder: 'Search tools', label: 'Search tools', oninput: drawList });
  const list = inStack();
  const isOn = (tool) => changes.get(tool.name) ?? tool.offered;
  const previewSoon = later(preview);
  drawList();
  fill(result, resultNodes(agent.tools));
  count(agent);
  return inStack(
    inRow(
      linkButton('‹ All', href('agents')),
      h('h1', agent.name),
      badge(agent.access.value),
    ),
    h('div.form', agent.keys.map(keyField)),
    agent.policy?.length > 0 &&
      h(
        'details',
        h('summary', 'Its settings'),
        agent.policy.map((each) => h('div', mono(`${each.key} = ${JSON.stringify(each.value)}`))),
      ),
    result,
    h('h2', 'Tools of this agent'),
    search,
    list,
  );

  function count({ prompt_tokens: tokens }) {
    setText(length, `About ${plural(tokens, 'token')} of each request`);
  }

  /** A key of the agent's table: empty, what holds for all agents holds. */
  function keyField({ key, value, otherwise, choices, suggestions }) {
    const id = uniqueId('key');
    const change = (next) => {
      keys[key] = next;
      previewSoon();
    };
    const attributes = { id, oninput: ({ target }) => change(target.value), placeholder: otherwise ?? (key === 'model' ? store.me.model : 'none') };
    const options = suggestions && h('datalist', { id: `${id}-list` }, suggestions.map((name) => h('option', { value: name })));
    const text = suggestions ? h('input', { ...attributes, value, list: `${id}-list` }) : h('textarea', { ...attributes, rows: 4, value });
    const entries = choices && [['', `not set here (${otherwise ?? 'none'})`], ...choices.map((name) => [name])];
    return [
      h('label.field-label', { for: id }, key),
      h('div.field', choices ? select(entries, value, change, { id }) : text, options, key === 'prompt' && length),
    ];
  }

  function drawList() {
    const words = search.value.toLowerCase();
    const sections = Map.groupBy(
      agent.tools.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(words)),
      (tool) => tool.section,
    );
    fill(
      list,
      [...sections].map(([name, tools]) => section(name, tools)),
    );
  }

  function section(name, tools) {
    const on = tools.filter(isOn).length;
    return h(
      'fieldset.box',
      h(
        'legend',
        h(
          'label.check',
          checkbox({
            checked: on === tools.length,
            indeterminate: on > 0 && on < tools.length,
            onchange: (event) => change(tools, event.target.checked),
          }),
          h('strong', name),
        ),
      ),
      h(
        'ul.pick',
        tools.map((tool) =>
          h(
            'li',
            h(
              'label',
              checkbox({
                checked: isOn(tool),
                'data-focus': tool.name,
                onchange: (event) => change([tool], event.target.checked),
              }),
              h(
                'span',
                mono(tool.name),
                ` - ${tool.description.split(/\.\s/, 1)[0]}`,
                !tool.offered && tool.reason && small(` (${tool.reason})`),
              ),
            ),
          ),
        ),
      ),
    );
  }

  function change(tools, isTicked) {
    for (const tool of tools) {
      if (tool.offered === isTicked) changes.delete(tool.name);
      else changes.set(tool.name, isTicked);
    }
    keepFocus(list, drawList);
    previewSoon();
  }

  function body() {
    const named = (isTicked) => [...changes].filter(([, ticked]) => ticked === isTicked).map(([name]) => name);
    return { on: named(true), off: named(false), ...keys };
  }

  function preview() {
    load(
      result,
      () => api.post(pathTo('agents', agent.name, '/preview'), body()),
      (answer) => {
        count(answer);
        return resultNodes(answer.tools, answer);
      },
    );
  }

  function resultNodes(tools, answer) {
    const removed = tools.filter((tool) => !tool.offered);
    const own = removed.filter(({ reason }) => /agents\./.test(reason)).length;
    const save = async () => {
      const saved = await api.put(pathTo('agents', agent.name), body());
      const action = undoSave(saved, reload);
      toast(`Saved ${agent.name}. Sessions that are opened from now on have it.`, { kind: 'ok', action });
      reload();
    };
    return [
      h('h2', `Result: ${plural(tools.length - removed.length, 'tool')} offered`),
      removed.length > 0 &&
        h(
          'details',
          h('summary', `${removed.length} not offered (${own} by its own settings)`),
          h(
            'ul.pick',
            removed.map((tool) => h('li', h('span', '–'), h('span', mono(tool.name), ` ${tool.reason ?? ''}`))),
          ),
        ),
      answer?.changed && [
        small('Change of ', mono(answer.file)),
        rendered(answer.diff_html),
        inRow(
          button('Save', save, { class: 'primary', disabled: !isAdmin() }),
          button('Discard', reload),
        ),
      ],
      !answer?.changed && muted('What you change in your configuration is shown here before it is saved.'),
    ];
  }
}
