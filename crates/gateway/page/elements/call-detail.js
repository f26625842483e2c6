// The open part of a card: result, input, diff, effects, decision, and what can be done with it.

import {
  api,
  copy,
  effectsList,
  fullTime,
  h,
  href,
  isOpen,
  openOutput,
  openUndo,
  pathTo,
  rendered,
  renderedOutput,
  store,
  tabs,
  traceList,
  verdictBadge,
} from '../core.js';

export function callDetail(call, { tab, onTab }) {
  const entries = [
    { name: 'result', label: 'Result', build: () => result(call) },
    { name: 'input', label: 'Input', build: () => rendered(call.arguments_html) },
    call.diff_html && { name: 'diff', label: 'Diff', build: () => rendered(call.diff_html) },
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
  if (call.result_html) nodes.push(renderedOutput(call.result_html));
  else if (!isOpen(call) && !nodes.length) nodes.push(h('p.muted', call.message ?? 'The tool returned nothing.'));
  if (call.spill)
    nodes.push(h('div', h('button', { onclick: () => openOutput(call) }, 'Full output…'), ' ', h('small', 'The model got a part.')));
  else if (call.result_cut) nodes.push(h('p.muted', 'The result was cut here.'));
  return nodes;
}

/** The recorded decision; until the call is recorded, what the policy says of it now. */
async function decision(call) {
  if (!call.decision && isOpen(call)) return h('p.muted', 'Not decided yet.');
  const said =
    call.decision ?? (await api.post(pathTo('tools', call.tool, '/explain'), { agent: call.agent, arguments: call.arguments ?? {} }));
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
          onclick: () => openUndo(pathTo('history', call.record, '/undo'), `the call of ${call.tool}`),
        },
        'Undo…',
      ),
    call.record && h('a.button', { href: href('history', call.record) }, 'In the history'),
    call.tool === 'cron' && h('a.button', { href: href('automation') }, 'Scheduled jobs'),
    call.tool === 'browser' && h('a.button', { href: href('browser', call.session, { call: call.id }) }, 'Browser and recording'),
    call.started && h('small', { title: call.record ?? '' }, fullTime(call.started)),
  );
}

/** For places that show one call alone. */
export function openCard(call) {
  const card = h('haft-call');
  card.call = call;
  card.toggle(true);
  return card;
}
