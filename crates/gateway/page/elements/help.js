// The list of keys.

import { dialog, h, PLACES, table } from '../core.js';

const KEYED = PLACES.filter(([, , key]) => key);
const KEYS = [
  ['?', 'this list'],
  ['Ctrl-K', 'find a place, session, tool or setting'],
  ['Ctrl-Alt-N', 'new session'],
  ['Enter', 'send; queue while a turn runs'],
  ['Shift-Enter', 'new line'],
  ['Ctrl-Enter', 'run the tool of the form'],
  ['Esc', 'stop the turn, close a dialog or the panel'],
  ['↑', 'in an empty message: take back the queued one'],
  [`g then ${KEYED.map(([, , key]) => key).join(' ')}`, `go to ${KEYED.map(([, label]) => label).join(', ')}`],
  ['j k', 'next, previous card'],
  ['Enter', 'on a card: open or close it'],
  ['u', 'undo the focused call'],
  ['/', 'write or search'],
  ['[ ]', 'hide or show the sessions, the panel'],
  ['Y S A E W N', 'in an approval: once, session, always, edit, deny with words, deny'],
];

export default function openHelp() {
  const columns = [
    ['Key', ([key]) => h('kbd', key)],
    ['What it does', ([, what]) => what],
  ];
  dialog('Keys', table(columns, KEYS), [], { closeLabel: 'Close' });
}
