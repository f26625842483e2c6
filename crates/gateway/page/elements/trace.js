// Effects, the trace of a decision, and what to change.

import { h, inRow, inStack, muted, visible } from '../dom.js';
import { button, copyButton } from '../notices.js';
import { openChange } from '../on-demand.js';
import { verdictLook } from '../states.js';
import { badge, isAdmin, sourceText, stateMark } from './page.js';

const KIND_WORDS = {
  delete: 'Delete',
  exec: 'Run',
  connect: 'Connect',
  send: 'Send',
  write: 'Write',
  read: 'Read',
  spawn: 'Start agent',
  configure: 'Configure',
  ask: 'Ask',
  unknown: 'Unknown',
};

/** What the server writes after a path, and a badge says. */
const OUTSIDE = / \(outside the workspace\)$/;

/** Effects, the weightiest first, hidden characters made visible. */
export function effectsList(effects) {
  if (!effects?.length) return muted('It reads, writes and connects to nothing.');
  const sorted = [...effects].sort((a, b) => (a.weight ?? 9) - (b.weight ?? 9));
  return h(
    'dl.effects',
    sorted.map((effect) => [
      h('dt', { class: effect.kind }, KIND_WORDS[effect.kind] ?? effect.kind),
      h(
        'dd',
        effect.words ? wordList(effect.words) : visible((effect.target ?? '').replace(OUTSIDE, '')),
        effect.outside && [' ', badge('! outside the workspace', 'ask')],
        effect.place && h('div.muted', effect.place),
      ),
    ]),
  );
}

/** A long command, a word in each line; where it runs stays in view. */
const wordList = (words) =>
  h(
    'div.words',
    words.map((word) => h('div', visible(word))),
  );

/** The steps of a decision in order. Steps without an opinion are folded. */
export function traceList(trace) {
  if (!trace?.length) return muted('No decision is recorded for this call.');
  const silent = trace.filter(isSilent);
  const spoken = trace.filter((entry) => !isSilent(entry));
  const list = (entries) =>
    h(
      'ol.trace',
      entries.map((entry) => traceLine(entry, trace.indexOf(entry) + 1)),
    );
  return inStack(
    list(spoken),
    silent.length > 0 && h('details', h('summary.muted', `${silent.length} steps without a setting`), list(silent)),
  );
}

const isSilent = (entry) => entry.outcome === 'pass' && /^(nothing configured)?$/.test(entry.entry ?? '');

function traceLine(entry, number) {
  const where = sourceText(entry);
  return h(
    'li',
    { class: entry.outcome === 'pass' ? 'none' : entry.outcome },
    stateMark(verdictLook(entry.outcome)),
    h('span', h('span.muted', `${number}. `), entry.step),
    h('span', visible(entry.entry ?? ''), where && h('div.where', where)),
  );
}

/** The verdict as an icon and a word. */
export function verdictBadge(verdict) {
  return badge(verdictLook(verdict));
}

export const decisionLine = ({ verdict }) => inRow(h('strong', 'Decision'), verdictBadge(verdict));

/** What to change, with a button that copies it, and one that does it where the page can. */
export function toChange(text, { advice, action = 'Change it…', call } = {}) {
  if (!text) return null;
  const edits = advice?.edits ?? [];
  const isPossible = edits.length > 0 && edits.every((edit) => edit.edit !== 'by hand' && !edit.of_project) && isAdmin();
  return h(
    'div.to-change',
    h('pre.fix', h('strong', 'To change it: '), text),
    isPossible && button(action, () => openChange(edits, { call })),
    copyButton(() => text, 'Copy', 'Copied what to change'),
  );
}

const isOpen = ({ effects, trace }) => !effects?.length && trace?.some((entry) => /depends on the arguments/.test(entry.entry));

/** A whole explanation. */
export function explanation(answer) {
  return inStack(
    decisionLine(answer),
    answer.error && h('p.call-error', typeof answer.error === 'string' ? answer.error : (answer.error.message ?? '')),
    h('h3', 'It would'),
    isOpen(answer) ? muted('That depends on the arguments.') : effectsList(answer.effects),
    h('h3', 'Because'),
    traceList(answer.trace),
    toChange(answer.to_change, { advice: answer.advice }),
  );
}
