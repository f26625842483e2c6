// Agents: which tools each one has, with check boxes, the effective result, and the change of the file before it is saved.

import { api } from '../api.js';
import { fill, h, insertRendered } from '../dom.js';
import { plural } from '../format.js';
import { act, toast } from '../notices.js';
import { href } from '../router.js';
import { store } from '../store.js';
import { empty, load } from '../elements/page.js';

export function mount(root, first) {
  const cards = h('div.tool-list');
  const detail = h('section.detail', { 'aria-label': 'Agent' });
  const box = h('div.split', h('div.side', h('div.side-head', h('h1', 'Agents')), cards), detail);
  let current = first.id ?? store.me.agent;
  fill(root, box);
  const reload = load(cards, () => api.get('/api/agents'), ({ agents }) => agents.map(card));
  show();
  const stop = store.on('changed:agents', () => reload());
  return { update: (to) => { current = to.id ?? store.me.agent; box.classList.toggle('has-detail', Boolean(to.id)); reload(); show(); return true; }, unmount: stop };

  function card(agent) {
    return h('a.tool-item', { href: href('agents', agent.name), 'aria-current': agent.name === current ? 'true' : null }, h('span', agent.active ? '●' : '○'),
      h('span.name', agent.name), h('span.badge', agent.access ?? 'default'), h('span.about', `${agent.model ?? 'default model'} · ${agent.offered} tools offered, ${agent.hidden} hidden`));
  }

  function show() {
    box.classList.toggle('has-detail', Boolean(first.id));
    load(detail, () => api.get(api.agent(current)), (agent) => editor(agent, show));
  }
}

function editor(agent, reload) {
  const denied = new Set(agent.deny ?? []);
  const added = new Set(agent.also_allow ?? []);
  const result = h('aside.box', { 'aria-live': 'polite' });
  const search = h('input', { type: 'search', placeholder: 'Search tools', 'aria-label': 'Search tools', oninput: drawList });
  const list = h('div.stack');
  const isSelected = (tool) => !denied.has(tool.name) && (tool.selected || added.has(tool.name) || agent.deny?.includes(tool.name));
  let timer = 0;
  drawList();
  drawResult(agent.tools);
  return h('div.stack',
    h('div.row', h('a.button', { href: href('agents') }, '‹ All'), h('h1', agent.name), [agent.model ?? 'default model', agent.access, agent.profile && `profile ${agent.profile}`].filter(Boolean).map((text) => h('span.badge', text))),
    agent.prompt && h('details', h('summary', `Prompt, ${agent.prompt_tokens ?? '?'} tokens`), h('pre.output', agent.prompt)),
    h('div.columns', h('div.stack', h('h2', 'Tools of this agent'), search, list), result));

  function drawList() {
    const words = search.value.toLowerCase();
    const sections = Map.groupBy(agent.tools.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(words)), (tool) => tool.section);
    fill(list, [...sections].map(([name, tools]) => section(name, tools)));
  }

  function section(name, tools) {
    const on = tools.filter(isSelected).length;
    return h('fieldset.box', h('legend', h('label.check',
      h('input', { type: 'checkbox', checked: on === tools.length, indeterminate: on > 0 && on < tools.length, onchange: (event) => change(tools, event.target.checked) }), h('strong', name))),
    h('ul.pick', tools.map((tool) => h('li', h('label', h('input', { type: 'checkbox', checked: isSelected(tool), 'data-tool': tool.name, onchange: (event) => change([tool], event.target.checked) }),
      h('span', h('code', tool.name), ` - ${tool.description}`), !tool.offered && isSelected(tool) && h('span.badge.ask', { title: tool.reason ?? '' }, '! removed by policy'))))));
  }

  function change(tools, isOn) {
    for (const tool of tools) {
      if (isOn) {
        denied.delete(tool.name);
        if (!tool.selected && !agent.deny?.includes(tool.name)) added.add(tool.name);
      } else {
        added.delete(tool.name);
        denied.add(tool.name);
      }
    }
    const focused = document.activeElement?.dataset?.tool;
    drawList();
    if (focused) list.querySelector(`[data-tool="${CSS.escape(focused)}"]`)?.focus();
    clearTimeout(timer);
    timer = setTimeout(preview, 200);
  }

  function body() {
    return { deny: denied.size || agent.deny?.length ? [...denied] : null, also_allow: added.size || agent.also_allow?.length ? [...added] : null };
  }

  function preview() {
    load(result, () => api.post(api.agent(agent.name, '/preview'), body()), (answer) => resultNodes(answer.tools, answer.diff_html));
  }

  function drawResult(tools) {
    fill(result, resultNodes(tools));
  }

  function resultNodes(tools, diff) {
    const offered = tools.filter((tool) => tool.offered);
    const removed = tools.filter((tool) => !tool.offered);
    const save = h('button.primary', { disabled: !store.can('admin'), onclick: () => act(save, async () => {
      await api.put(api.agent(agent.name), body());
      toast(`Saved ${agent.name}. It takes effect in the next turn.`, { kind: 'ok' });
      reload();
    }) }, 'Save');
    return [
      h('h2', `Result: ${plural(offered.length, 'tool')} offered`),
      removed.length > 0 && h('details', h('summary', `${removed.length} not offered`), h('ul.pick', removed.map((tool) => h('li', h('span', '–'), h('span', h('code', tool.name), ` ${tool.reason ?? 'your selection'}`))))),
      diff && [h('h3', 'Change of ', agent.file), insertRendered(h('div.rendered.scroll'), diff), h('div.row', save, h('button', { onclick: reload }, 'Discard'))],
      !diff && h('p.muted', 'Check or uncheck a tool: the change of your configuration is shown here before anything is saved.'),
      tools.length === 0 && empty('This agent has no tools.'),
    ];
  }
}
