// The open part of a card: result, input, diff, effects, decision, and what can be done with it.

import {
  api,
  button,
  copyButton,
  decisionLine,
  effectsList,
  fullTime,
  h,
  href,
  inStack,
  isAdmin,
  isOpen,
  linkButton,
  muted,
  openOutput,
  pathTo,
  rendered,
  renderedOutput,
  small,
  tabs,
  traceList,
  undoCall,
} from '../core.js';

export function callDetail(call, { tab, onTab }) {
  const entries = [
    ['result', 'Result', () => result(call)],
    ['input', 'Input', () => rendered(call.arguments_html)],
    call.diff_html && ['diff', 'Diff', () => rendered(call.diff_html)],
    ['effects', 'Effects', () => effectsList(call.effects)],
    ['decision', 'Decision', () => decision(call)],
  ].filter(Boolean);
  const first = call.diff_html && call.state !== 'error' ? 'diff' : 'result';
  const { list, panel } = tabs(`Details of ${call.tool}`, entries, { selected: tab ?? first, onSelect: onTab });
  return h('div.call-body', list, panel, actions(call));
}

function result(call) {
  const nodes = [];
  if (isOpen(call)) nodes.push(muted(call.state === 'waiting' ? 'It runs when it is approved.' : 'No result yet.'));
  for (const image of call.images ?? []) {
    if (/^data:image\/(png|jpeg|gif|webp)[;,]/.test(image.url)) nodes.push(h('img', { src: image.url, alt: `Image from ${call.tool}` }));
  }
  if (call.result_html) nodes.push(renderedOutput(call.result_html));
  else if (!isOpen(call) && !nodes.length) nodes.push(muted(call.message ?? 'The tool returned nothing.'));
  if (call.spill)
    nodes.push(h('div', button('Full output…', () => openOutput(call)), ' ', small('The model got a part.')));
  else if (call.result_cut) nodes.push(muted('The result was cut here.'));
  return nodes;
}

/** The trace of the recorded decision; until the call is recorded, what the policy says of it now. */
export async function decision(call) {
  if (!call.decision && isOpen(call)) return muted('Not decided yet.');
  const said =
    call.decision ?? (await api.post(pathTo('tools', call.tool, '/explain'), { agent: call.agent, arguments: call.arguments ?? {} }));
  return inStack(said.trace?.length > 0 && decisionLine(said), traceList(said.trace));
}

function actions(call) {
  const { tool, record, agent, session } = call;
  const mayUndo = call.can_undo && !call.undone && record && isAdmin();
  return h(
    'div.call-actions',
    copyButton(() => call.result ?? call.message ?? '', 'Copy result', 'Copied the result'),
    linkButton('Run again in Tools', href('tools', tool, { arguments: JSON.stringify(call.arguments ?? {}), agent })),
    mayUndo && button('Undo…', () => undoCall(call), { 'data-key': 'u', title: 'Undo this call (u)' }),
    record && linkButton('In the history', href('history', record)),
    tool === 'cron' && linkButton('Scheduled jobs', href('automation')),
    tool === 'browser' && linkButton('Browser and recording', href('browser', session, { call: call.id })),
    call.started && small({ title: record ?? '' }, fullTime(call.started)),
  );
}

/** For places that show one call alone. */
export function openCard(call) {
  const card = h('haft-call');
  card.call = call;
  card.toggle(true);
  return card;
}
