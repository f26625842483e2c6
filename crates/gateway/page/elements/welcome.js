// The first thing a newcomer sees: what this is, which model answers, and what to try.

import { button, h, href, isAdmin, link, mono, muted, openChange, report, store } from '../core.js';

const STARTS = [
  ['Read a file', 'read README.md'],
  ['Change a file', "write 'hello from Haft' to hello.txt"],
  ['See a refusal and its reason', 'read /etc/shadow'],
  ['Run a command', 'run `ls -l`'],
  ['Two things at once', 'what time is it, and what does README.md say?'],
  ['Be reminded', 'remind me every weekday at 9'],
];

export default function welcome(send, edit) {
  const { model, model_reason: reason, workspace, access, ask } = store.me;
  const isDemo = model?.startsWith('demo/');
  return h(
    'div.grow.scroll',
    h(
      'div.welcome.stack',
      h('h1', 'What should the agent do?'),
      h(
        'p',
        'Every tool call appears as a card here: what it does, why it may, and what became of it. You decide what needs your approval.',
      ),
      muted(
        isDemo
          ? `The demo model answers${reason ? ` (${reason})` : ''}: it understands plain requests like these and needs no key. `
          : `Model: ${model}. `,
        'Workspace: ',
        mono(workspace ?? ''),
        ` · access: ${access ?? ''}. `,
        link('Settings', href('settings')),
      ),
      ['never', 'beyond', 'rules'].includes(ask) && isAdmin() && askFirst(),
      h(
        'div.starts',
        STARTS.map(([label, text]) => h('button', { onclick: (event) => start(event, text) }, h('strong', label), h('span.muted', text))),
      ),
      muted('Shift-click a suggestion to edit it first. ', h('kbd', '?'), ' lists the keys.'),
    ),
  );

  /** Changes in the workspace are made without a question by default. */
  function askFirst() {
    const line = muted(
      'Files in the workspace are changed without a question, and every change can be undone. ',
      button('Ask me first…', () => openChange([{ edit: 'set', key: 'ask', value: 'changes' }], { saved: () => line.remove() })),
    );
    return line;
  }

  function start(event, text) {
    if (event.shiftKey || !store.can('chat')) edit(text);
    else send(text).catch(report);
  }
}
