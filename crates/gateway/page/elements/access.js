// The access level of a session: lowering is one click, raising asks and says what it opens.

import { act, api, dialog, h, href, openMenu, pathTo, store, toast } from '../core.js';

const LEVELS = ['read-only', 'workspace-write', 'full-access'];
const MEANINGS = {
  'read-only': 'It may read the workspace and change nothing.',
  'workspace-write': 'It may change files in the workspace and run commands in the sandbox.',
  'full-access': 'It may reach all that you can. Your rules still apply.',
};

export function accessMenu(anchor, session, now) {
  const entries = LEVELS.filter((level) => level !== now && (LEVELS.indexOf(level) < LEVELS.indexOf(now) || store.can('admin'))).map(
    (level) => ({
      label: `${LEVELS.indexOf(level) < LEVELS.indexOf(now) ? '↓' : '↑'} ${level}`,
      run: () => choose(session, level, now),
    }),
  );
  openMenu(anchor, [...entries, { label: 'Where it comes from', run: () => (location.hash = href('settings', null, { text: 'access' })) }]);
}

function choose(session, level, now) {
  if (LEVELS.indexOf(level) < LEVELS.indexOf(now)) return set(session, level, null);
  const raise = h('button.primary', { onclick: () => set(session, level, raise).then((done) => done && box.close()) }, `Raise to ${level}`);
  const words = [h('p', MEANINGS[level]), h('p.muted', 'It holds for this session, until the server ends.')];
  const box = dialog(`Raise the access of this session to ${level}?`, words, [raise]);
  return undefined;
}

function set(session, access, button) {
  return act(button, async () => {
    store.putSession(await api.patch(pathTo('sessions', session.id), { access }));
    toast(`Access is ${access} from the next message on.`, { kind: 'ok' });
    return true;
  });
}
