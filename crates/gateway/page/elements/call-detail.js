// The open part of a card: result, input, diff, effects, decision, and what can be done with it.

import { api } from '../api.js';
import { fill, h, insertRendered } from '../dom.js';
import { fullTime } from '../format.js';
import { copy, toast } from '../notices.js';
import { openOutput, openUndo } from '../on-demand.js';
import { href } from '../router.js';
import { isOpen } from '../states.js';
import { store } from '../store.js';
import { tabs } from './tabs.js';
import { effectsList, traceList, verdictBadge } from './trace.js';

export function callDetail(call, { tab, onTab }) {
  const entries = [
    { name: 'result', label: 'Result', build: () => result(call) },
    { name: 'input', label: 'Input', build: () => input(call) },
    call.diff_html && { name: 'diff', label: 'Diff', build: () => insertRendered(h('div.rendered.scroll'), call.diff_html) },
    { name: 'effects', label: 'Effects', build: () => effectsList(call.effects) },
    { name: 'decision', label: 'Decision', build: () => decision(call) },
  ].filter(Boolean);
  const first = call.diff_html && call.state !== 'error' ? 'diff' : 'result';
  const { list, panel } = tabs(`Details of ${call.tool}`, entries, { selected: tab ?? first, onSelect: onTab });
  return h('div.call-body', list, panel, actions(call));
}

function result(call) {
  const nodes = [];
  if (isOpen(call)) nodes.push(h('p.muted', call.state === 'waiting' ? 'It runs when it is approved.' : 'No result yet.'));
  for (const image of call.images ?? []) {
    if (/^data:image\/(png|jpeg|gif|webp)[;,]/.test(image.url)) nodes.push(h('img', { src: image.url, alt: `Image from ${call.tool}` }));
  }
  if (call.result_html) nodes.push(insertRendered(h('div.output.rendered', { tabindex: 0 }), call.result_html));
  else if (call.result) nodes.push(h('div.output', { tabindex: 0 }, call.result));
  else if (!isOpen(call) && !nodes.length) nodes.push(h('p.muted', call.message ?? 'The tool returned nothing.'));
  if (call.spill) nodes.push(h('div', h('button', { onclick: () => openOutput(call) }, 'Full output…'), ' ', h('small', 'The model got a part.')));
  else if (call.result_cut) nodes.push(h('p.muted', 'The result was cut here.'));
  return nodes;
}

function input(call) {
  if (call.arguments_html) return insertRendered(h('div.rendered.scroll'), call.arguments_html);
  return h('pre.output', JSON.stringify(call.arguments, null, 2));
}

/** The recorded decision; until the call is recorded, what the policy says of it now. */
async function decision(call) {
  if (!call.decision && isOpen(call)) return h('p.muted', 'Not decided yet.');
  const said = call.decision ?? (await api.post(api.tool(call.tool, '/explain'), { agent: call.agent, arguments: call.arguments ?? {} }));
  return h('div.stack', h('div.row', h('strong', 'Decision'), verdictBadge(said.verdict)), traceList(said.trace));
}

function actions(call) {
  const argumentsText = JSON.stringify(call.arguments ?? {});
  const undo = call.can_undo && !call.undone && call.record && store.can('admin');
  return h(
    'div.call-actions',
    h('button', { onclick: () => copy(call.result ?? call.message ?? '', 'Copied the result') }, 'Copy result'),
    h('a.button', { href: href('tools', call.tool, { arguments: argumentsText, agent: call.agent }) }, 'Run again in Tools'),
    undo &&
      h(
        'button',
        {
          'data-key': 'u',
          title: 'Undo this call (u)',
          onclick: () => openUndo(api.record(call.record, '/undo'), `the call of ${call.tool}`),
        },
        'Undo…',
      ),
    call.record && h('a.button', { href: href('history', call.record) }, 'In the history'),
    call.tool === 'browser' && h('a.button', { href: href('browser', call.session, { call: call.id }) }, 'Browser and recording'),
    call.started && h('small', { title: call.record ?? '' }, fullTime(call.started)),
  );
}

/** For places that show one call alone. */
export async function loadCall(record, target) {
  try {
    const call = await api.get(api.record(record));
    const card = document.createElement('haft-call');
    card.call = call;
    fill(target, card);
    card.toggle(true);
  } catch (error) {
    toast(error.message, { fix: error.help, kind: 'fail' });
  }
}
