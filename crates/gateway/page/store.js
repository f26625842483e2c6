// The one state of the page, fed by the stream of events. Elements subscribe to topics.

import { api, onSignedOut } from './api.js';
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
      receive: (name, data, seq) => this.#receive(name, data, seq),
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
    let transcript = this.transcripts.get(id);
    if (!transcript) {
      transcript = new Transcript();
      this.transcripts.set(id, transcript);
    }
    if (!transcript.isLoaded) {
      transcript.loading ??= this.#loadTranscript(id, transcript).finally(() => {
        transcript.loading = null;
      });
      await transcript.loading;
    }
    this.#forgetOldest(id);
    return transcript;
  }

  /** Keeps the transcripts of the sessions that were looked at last. */
  #forgetOldest(newest) {
    const transcript = this.transcripts.get(newest);
    this.transcripts.delete(newest);
    this.transcripts.set(newest, transcript);
    while (this.transcripts.size > KEPT) this.transcripts.delete(this.transcripts.keys().next().value);
  }

  async #loadTranscript(id, transcript) {
    try {
      await this.#fetchTranscript(id, transcript);
    } catch (error) {
      this.transcripts.delete(id);
      throw error;
    }
  }

  async #fetchTranscript(id, transcript) {
    const [page, todos] = await Promise.all([
      api.get(api.session(id, '/items'), { limit: PAGE }),
      api.get(api.session(id, '/todos')).catch(() => ({ todos: [] })),
    ]);
    transcript.todos = todos.todos;
    transcript.load(page);
  }

  async loadOlder(id) {
    const transcript = this.transcripts.get(id);
    if (!transcript?.before || transcript.loadingOlder) return false;
    transcript.loadingOlder = true;
    try {
      transcript.prepend(await api.get(api.session(id, '/items'), { limit: PAGE, before: transcript.before }));
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

  #receive(name, data, seq) {
    switch (name) {
      case 'reset':
        return this.#reset();
      case 'session':
        return this.putSession(data.session);
      case 'session_deleted':
        return this.#deleted(data.session);
      case 'approval':
        return this.#asked(data.approval);
      case 'approval_closed':
        return this.#answered(data);
      case 'canvas':
        return this.tell('canvas', data);
      case 'todos':
        return this.#todos(data);
      case 'usage':
        return this.#usage(data);
      case 'changed':
        if (data.what === 'settings') this.#check();
        return this.tell(`changed:${data.what}`, data);
      case 'item':
      case 'text':
      case 'thinking':
      case 'call':
      case 'progress':
        return this.#conversation(name, data, seq);
      default:
        return undefined;
    }
  }

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
    this.tell(`todos:${session}`, todos);
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
