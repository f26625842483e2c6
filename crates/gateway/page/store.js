// The one state of the page, fed by the stream of events. Elements subscribe to topics.

import { api, onSignedOut, sessionPath } from './api.js';
import { EventStream } from './stream.js';
import { Transcript } from './transcript.js';

const PAGE = 200;
const KEPT = 8;
const STARTS_SESSIONS = new Set(['agent', 'sessions_spawn']);

class Store {
  me = null;
  connection = 'connecting';
  sessions = new Map();
  transcripts = new Map();
  approvals = new Map();
  #topics = new Map();
  #stream = null;

  /** Calls `listener` on each change of `topic`; returns a function that ends that. */
  on(topic, listener) {
    if (!this.#topics.has(topic)) this.#topics.set(topic, new Set());
    this.#topics.get(topic).add(listener);
    return () => this.#topics.get(topic).delete(listener);
  }

  tell(topic, detail) {
    for (const listener of [...(this.#topics.get(topic) ?? [])]) listener(detail);
  }

  can(scope) {
    return this.me?.token?.scopes?.includes(scope) ?? false;
  }

  /** The state of a session; one with an open question waits, whatever it was before. */
  stateOf(session) {
    const isAsked = [...this.approvals.values()].some((approval) => approval.session === session?.id);
    return isAsked ? 'waiting' : (session?.state ?? 'idle');
  }

  async start() {
    this.me = await api.get('/api/me');
    await this.#loadLists();
    this.#stream?.close();
    this.#stream = new EventStream({
      after: this.me.seq,
      events: this.#events,
      connected: (state) => this.#connected(state),
      check: () => this.#check(),
    });
    this.#stream.open();
  }

  stop() {
    this.#stream?.close();
    this.#connected('ended');
  }

  wake() {
    this.#stream?.wake();
  }

  async #loadLists() {
    const [sessions, approvals] = await Promise.all([
      api.get('/api/sessions', { limit: 100, workspace: 'all', sub_agents: true }),
      api.get('/api/approvals'),
    ]);
    this.sessions = new Map(sessions.sessions.map((session) => [session.id, session]));
    this.approvals = new Map(approvals.approvals.map((approval) => [approval.id, approval]));
    this.tell('sessions');
    this.tell('approvals', {});
  }

  /** The transcript of a session, loaded if it is not. */
  async transcript(id) {
    const transcript = this.transcripts.get(id) ?? new Transcript();
    // Those that were looked at last are kept.
    this.transcripts.delete(id);
    this.transcripts.set(id, transcript);
    while (this.transcripts.size > KEPT) this.transcripts.delete(this.transcripts.keys().next().value);
    if (!transcript.isLoaded) {
      transcript.loading ??= this.#loadTranscript(id, transcript).finally(() => {
        transcript.loading = null;
      });
      await transcript.loading;
    }
    return transcript;
  }

  async #loadTranscript(id, transcript) {
    try {
      const [page, { todos }] = await Promise.all([
        api.get(sessionPath(id, '/items'), { limit: PAGE }),
        api.get(sessionPath(id, '/todos')).catch(() => ({ todos: [] })),
      ]);
      transcript.todos = todos;
      transcript.load(page);
    } catch (error) {
      this.transcripts.delete(id);
      throw error;
    }
  }

  async loadOlder(id) {
    const transcript = this.transcripts.get(id);
    if (!transcript?.before || transcript.loadingOlder) return false;
    transcript.loadingOlder = true;
    try {
      transcript.prepend(await api.get(sessionPath(id, '/items'), { limit: PAGE, before: transcript.before }));
      return true;
    } finally {
      transcript.loadingOlder = false;
    }
  }

  putSession(session) {
    this.sessions.set(session.id, session);
    this.tell('sessions', session);
  }

  async #check() {
    try {
      this.me = await api.get('/api/me');
      return true;
    } catch (error) {
      // Too many wrong tokens: a right one is never counted.
      return ![401, 429].includes(error.status);
    }
  }

  #connected(state) {
    if (this.connection === state) return;
    this.connection = state;
    this.tell('connection', state);
  }

  /** What each event of the stream does. */
  #events = {
    hello: () => {},
    bye: () => {},
    reset: () => this.#reset(),
    session: ({ session }) => this.putSession(session),
    session_deleted: ({ session }) => this.#deleted(session),
    approval: ({ approval }) => this.#asked(approval),
    approval_closed: (closed) => this.#answered(closed),
    canvas: (data) => this.tell('canvas', data),
    todos: (data) => this.#todos(data),
    usage: (data) => this.#usage(data),
    changed: (data) => {
      if (data.what === 'settings') this.#check();
      this.tell(`changed:${data.what}`, data);
    },
    ...Object.fromEntries(
      ['item', 'text', 'thinking', 'call', 'progress'].map((name) => [name, (data, seq) => this.#conversation(name, data, seq)]),
    ),
  };

  #conversation(name, data, seq) {
    const change = this.transcripts.get(data.session)?.apply(name, data, seq);
    if (change) this.tell(`items:${data.session}`, { name, ...change });
    if (name !== 'call') return;
    this.tell('calls', data.call);
    if (STARTS_SESSIONS.has(data.call.tool)) this.#loadListsSoon();
  }

  /** Sessions of sub-agents come without an event of their own. */
  #loadListsSoon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.#loadLists().catch(() => {}); // The next change tries again.
    }, 500);
  }

  #asked(approval) {
    this.approvals.set(approval.id, approval);
    this.tell('approvals', { asked: approval });
    this.tell('sessions', this.sessions.get(approval.session));
  }

  #answered(closed) {
    const approval = this.approvals.get(closed.id);
    this.approvals.delete(closed.id);
    this.tell('approvals', { closed: { ...closed, approval } });
    this.tell('sessions', this.sessions.get(closed.session));
  }

  #todos({ session, todos }) {
    const transcript = this.transcripts.get(session);
    if (transcript) transcript.todos = todos;
    this.tell('sessions', this.sessions.get(session));
  }

  #usage({ session: id, usage, context_tokens: context }) {
    const session = this.sessions.get(id);
    if (session) this.putSession({ ...session, usage, context_tokens: context ?? session.context_tokens });
  }

  #deleted(id) {
    this.sessions.delete(id);
    this.transcripts.delete(id);
    this.tell('sessions', { id, isDeleted: true });
  }

  /** Events were missed: loads everything that is shown again. */
  async #reset() {
    this.transcripts.clear();
    try {
      await this.#loadLists();
    } catch {
      return; // The stream breaks as well, and the next one starts with a reset.
    }
    this.tell('reset');
  }
}

export const store = new Store();
onSignedOut(() => store.stop());
