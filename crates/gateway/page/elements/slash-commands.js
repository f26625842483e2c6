// Slash commands of the composer: the same names as in the terminal.

import { go } from '../router.js';
import { forkSession } from './session-actions.js';
import { api } from '../api.js';
import { toast } from '../notices.js';
import { openHelp, openUndo } from '../on-demand.js';

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
    { name: 'resume', about: 'search a session', run: () => document.dispatchEvent(new CustomEvent('haft-palette')) },
    {
      name: 'fork',
      about: 'copy this session',
      run: async () => {
        const fork = place.id && (await forkSession(place.id));
        if (fork) go('chat', fork.id);
      },
    },
    { name: 'undo', about: 'put back the files of the last call that changed one', run: () => undoLast(place) },
  ];
}

function undoLast(place) {
  const last = place.transcript?.items.findLast(
    (item) => item.type === 'call' && item.call.can_undo && !item.call.undone && item.call.record,
  );
  if (!last) toast('No call of this session changed a file that can be put back.', {});
  else openUndo(api.record(last.call.record, '/undo'), `the call of ${last.call.tool}`);
}
