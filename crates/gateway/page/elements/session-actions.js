// What can be done with a session: rename, fork, export, undo, delete.

import { api } from '../api.js';
import { report, toast } from '../notices.js';
import { openUndo } from '../on-demand.js';
import { go, route } from '../router.js';
import { store } from '../store.js';
import { promptText } from './dialog.js';

const UNDO_TIME = 10_000;

export function sessionMenu(session) {
  const mayChat = store.can('chat');
  return [
    mayChat && { label: 'Rename…', run: () => renameSession(session) },
    mayChat && {
      label: 'Fork',
      run: async () => {
        const fork = await forkSession(session.id);
        if (fork) go('chat', fork.id);
      },
    },
    { label: 'Export as JSON lines', run: () => exportSession(session) },
    store.can('admin') && {
      label: 'Undo all its changes…',
      run: () => openUndo(api.session(session.id, '/undo'), 'all changes of this session'),
    },
    mayChat && { label: 'Delete', danger: true, run: () => deleteSession(session) },
  ].filter(Boolean);
}

export async function renameSession(session) {
  const title = await promptText('Rename this session', 'Title', session.title ?? '');
  if (!title) return;
  try {
    store.putSession(await api.patch(api.session(session.id), { title }));
  } catch (error) {
    report(error);
  }
}

export async function forkSession(id, before) {
  try {
    const fork = await api.post(api.session(id, '/fork'), before === undefined ? {} : { before });
    store.putSession(fork);
    return fork;
  } catch (error) {
    report(error);
    return null;
  }
}

/** Hides it at once and deletes it after a while, so that it can be taken back. */
function deleteSession(session) {
  store.sessions.delete(session.id);
  store.tell('sessions', { id: session.id, isDeleted: true });
  if (route().id === session.id) go('chat');
  const timer = setTimeout(async () => {
    box.remove();
    try {
      await api.delete(api.session(session.id));
    } catch (error) {
      report(error);
      store.putSession(session);
    }
  }, UNDO_TIME);
  const undo = () => {
    clearTimeout(timer);
    store.putSession(session);
  };
  const box = toast(`“${session.title || 'Session'}” is deleted.`, { action: { label: 'Undo', run: undo } });
}

async function exportSession(session) {
  try {
    const items = [];
    let before;
    do {
      const page = await api.get(api.session(session.id, '/items'), { limit: 200, before });
      items.unshift(...page.items);
      before = page.before;
    } while (before);
    download(`${session.id}.jsonl`, items.map((item) => JSON.stringify(item)).join('\n'));
  } catch (error) {
    report(error);
  }
}

export function download(name, text, type = 'application/x-ndjson') {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
