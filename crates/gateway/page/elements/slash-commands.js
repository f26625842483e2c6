// Slash commands of the composer: the same names as in the terminal.

import { go, openHelp, openPalette, toast, undoCall } from '../core.js';
import { openFork } from './session-actions.js';

/** Of the session with this id, if there is one. */
export function slashCommands(session, getTranscript) {
  const to = (name, id) => () => go(name, id);
  return [
    { name: 'help', about: 'keys and commands', run: openHelp },
    { name: 'clear', about: 'start a new session', run: to('chat') },
    { name: 'tools', about: 'what the agent has', run: to('tools') },
    { name: 'agent', about: 'choose its tools', run: to('agents') },
    {
      name: 'explain',
      about: 'why a tool is or is not allowed: /explain exec',
      run: (tool) => go('tools', tool || null, { tab: 'explain' }),
    },
    { name: 'history', about: 'all calls of this session', run: () => go('history', null, { session }) },
    { name: 'cost', about: 'tokens and cost', run: to('usage') },
    { name: 'resume', about: 'search a session', run: openPalette },
    { name: 'fork', about: 'copy this session', run: () => session && openFork(session) },
    { name: 'undo', about: 'put back the files of the last call that changed one', run: () => undoLast(getTranscript()) },
  ];
}

function undoLast(transcript) {
  const last = transcript?.items.findLast(({ call }) => call?.can_undo && !call.undone && call.record);
  if (last) return undoCall(last.call);
  return toast('No call of this session changed a file that can be put back.');
}
