// What can be done with a session: rename, fork, export, undo, delete.

import { act, api, go, isAdmin, promptText, report, route, sessionPath, store, toast, undoSession } from '../core.js';

const UNDO_TIME = 10_000;

export function sessionMenu(session) {
  const mayChat = store.can('chat');
  return [
    mayChat && { label: 'Rename…', run: () => renameSession(session) },
    mayChat && { label: 'Fork', run: () => openFork(session.id) },
    { label: 'Export as JSON lines', run: () => exportSession(session) },
    isAdmin() && { label: 'Undo all its changes…', run: () => undoSession(session.id) },
    mayChat && { label: 'Delete', danger: true, run: () => deleteSession(session) },
  ];
}

export async function renameSession(session) {
  const title = await promptText('Rename this session', 'Title', session.title ?? '');
  if (title) await act(async () => store.putSession(await api.patch(sessionPath(session.id), { title })));
}

/** Copies a session, or what is before a message of it; nothing if it fails. */
export function forkSession(id, before) {
  return act(async () => {
    const fork = await api.post(sessionPath(id, '/fork'), { before });
    store.putSession(fork);
    return fork;
  });
}

/** Copies a session and shows the copy. */
export async function openFork(id) {
  const fork = await forkSession(id);
  if (fork) go('chat', fork.id);
}

/** Hides it at once and deletes it after a while, so that it can be taken back. */
function deleteSession(session) {
  store.sessions.delete(session.id);
  store.tell('sessions', { id: session.id, isDeleted: true });
  if (route().id === session.id) go('chat');
  const timer = setTimeout(async () => {
    box.remove();
    try {
      await api.delete(sessionPath(session.id));
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

function exportSession(session) {
  return act(async () => {
    const items = [];
    let before;
    do {
      const page = await api.get(sessionPath(session.id, '/items'), { limit: 200, before });
      items.unshift(...page.items);
      ({ before } = page);
    } while (before);
    download(`${session.id}.jsonl`, items.map((item) => JSON.stringify(item)).join('\n'));
  });
}

export function download(name, text, type = 'application/x-ndjson') {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
