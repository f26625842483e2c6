// Slash commands of the composer: the same names as in the terminal.

import { go, openHelp, openPalette, openUndo, pathTo, toast } from '../core.js';
import { openFork } from './session-actions.js';

export function slashCommands(place) {
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
    { name: 'history', about: 'all calls of this session', run: () => go('history', null, { session: place.id }) },
    { name: 'cost', about: 'tokens and cost', run: to('usage') },
    { name: 'resume', about: 'search a session', run: openPalette },
    { name: 'fork', about: 'copy this session', run: () => place.id && openFork(place.id) },
    { name: 'undo', about: 'put back the files of the last call that changed one', run: () => undoLast(place) },
  ];
}

function undoLast(place) {
  const last = place.transcript?.items.findLast(
    (item) => item.type === 'call' && item.call.can_undo && !item.call.undone && item.call.record,
  );
  if (!last) toast('No call of this session changed a file that can be put back.', {});
  else openUndo(pathTo('history', last.call.record, '/undo'), `the call of ${last.call.tool}`);
}
