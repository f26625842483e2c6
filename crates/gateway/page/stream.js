// One stream of events for everything. It resumes after the last event it saw, however often the connection breaks.

const SILENCE = 40_000;
const LONGEST_PAUSE = 10_000;

export class EventStream {
  #source = null;
  #after;
  #pause = 250;
  #timer = 0;
  #watchdog = 0;

  /** `events` has a function for each event by its name, `connected(state)` gets `live`, `connecting` or `ended`. */
  constructor({ after, ...callbacks }) {
    this.#after = after;
    Object.assign(this, callbacks);
  }

  open() {
    this.close();
    this.connected('connecting');
    const source = new EventSource(`/api/events?after=${this.#after}`);
    this.#source = source;
    for (const name in this.events) source.addEventListener(name, (event) => this.#event(name, event));
    source.onopen = () => this.#watch();
    source.onerror = () => this.#retry();
    this.#watch();
  }

  close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    this.#source?.close();
    this.#source = null;
  }

  /** Tries again at once: the network is back, or the page is shown again. */
  wake() {
    if (this.#timer) this.open();
  }

  #event(name, event) {
    this.#watch();
    let data;
    try {
      data = JSON.parse(event.data);
    } catch {
      return;
    }
    const seq = Number(event.lastEventId) || 0;
    if (seq) this.#after = Math.max(Number(this.#after) || 0, seq);
    if (name === 'hello') {
      this.#pause = 250;
      this.connected('live');
    }
    if (name === 'reset' && data.seq) this.#after = data.seq;
    if (name === 'bye' && data.reason === 'revoked') {
      this.close();
      this.connected('ended');
    }
    this.events[name](data, seq);
  }

  /** The server sends a comment every 15 s, which the page cannot see; only a broken connection reports itself. */
  #watch() {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => {
      if (this.#source?.readyState !== EventSource.OPEN) this.#retry();
    }, SILENCE);
  }

  async #retry() {
    if (!this.#source) return;
    this.close();
    this.connected('connecting');
    // A browser does not say why a stream failed; a plain request does.
    if (this.#pause > 500 && !(await this.check())) {
      this.connected('ended');
      return;
    }
    this.#timer = setTimeout(
      () => {
        this.#timer = 0;
        this.open();
      },
      this.#pause * (0.75 + Math.random() / 2),
    );
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }
}
