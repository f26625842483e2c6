// The list of keys.

import { h } from '../dom.js';
import { dialog } from './dialog.js';

const KEYS = [
  ['?', 'this list'],
  ['Ctrl-K', 'find a place, session, tool or setting'],
  ['Ctrl-Alt-N', 'new session'],
  ['Enter', 'send; queue while a turn runs'],
  ['Shift-Enter', 'new line'],
  ['Ctrl-Enter', 'run the tool of the form'],
  ['Esc', 'stop the turn, close a dialog or the panel'],
  ['↑', 'in an empty message: take back the queued one'],
  ['g then c i t a h u d s p', 'go to Chat, Inbox, Tools, Agents, History, Usage, Doctor, Settings, Policy'],
  ['j k', 'next, previous card'],
  ['Enter', 'on a card: open or close it'],
  ['u', 'undo the focused call'],
  ['/', 'write or search'],
  ['[ ]', 'show or hide the panel'],
  ['Y S A E W N', 'in an approval: once, session, always, edit, deny with words, deny'],
];

export function openHelp() {
  dialog(
    'Keys',
    [
      h(
        'table',
        h(
          'tbody',
          KEYS.map(([key, what]) => h('tr', h('td', h('kbd', key)), h('td', what))),
        ),
      ),
    ],
    [],
    { closeLabel: 'Close' },
  );
}
