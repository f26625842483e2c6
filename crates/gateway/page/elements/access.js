// The access level of a session: lowering is one click, raising asks and says what it opens.

import { api, button, dialog, go, h, isAdmin, muted, openMenu, sessionPath, store, toast } from '../core.js';

const LEVELS = ['read-only', 'workspace-write', 'full-access'];
const MEANINGS = {
  'read-only': 'It may read the workspace and change nothing.',
  'workspace-write': 'It may change files in the workspace and run commands in the sandbox.',
  'full-access': 'It may reach all that you can. Your rules still apply.',
};

export default function accessMenu(anchor, session, now) {
  const isLower = (level) => LEVELS.indexOf(level) < LEVELS.indexOf(now);
  const entries = LEVELS.filter((level) => level !== now && (isLower(level) || isAdmin())).map((level) => ({
    label: `${isLower(level) ? '↓' : '↑'} ${level}`,
    run: () => (isLower(level) ? set(session, level) : raise(session, level)),
  }));
  openMenu(anchor, [...entries, { label: 'Where it comes from', run: () => go('settings', null, { text: 'access' }) }]);
}

function raise(session, level) {
  const words = [h('p', MEANINGS[level]), muted('It holds for this session, until the server ends.')];
  const run = () => set(session, level).then(() => box.close());
  const box = dialog(`Raise the access of this session to ${level}?`, words, button(`Raise to ${level}`, run, 'primary'));
}

async function set({ id }, access) {
  store.putSession(await api.patch(sessionPath(id), { access }));
  toast(`Access is ${access} from the next message on.`, { kind: 'ok' });
}
