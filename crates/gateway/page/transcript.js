// What is known of one session's conversation. Events are applied once, in order, however often they arrive.

export class Transcript {
  items = [];
  todos = [];
  before = null;
  seq = 0;
  isLoaded = false;
  #index = new Map();
  #calls = new Map();
  #waiting = [];

  /** Takes the newest page, then the events that came while it was on its way. */
  load({ items, before, seq }) {
    this.items = items;
    this.before = before;
    this.seq = seq;
    this.#reindex();
    this.isLoaded = true;
    for (const [name, data, at] of this.#waiting.splice(0)) this.apply(name, data, at);
  }

  /** Puts an older page in front. */
  prepend({ items, before }) {
    const older = items.filter((item) => !this.#index.has(item.id));
    this.items = [...older, ...this.items];
    this.before = before;
    this.#reindex();
  }

  item(id) {
    return this.items[this.#index.get(id)];
  }

  callItem(callId) {
    return this.items[this.#calls.get(callId)];
  }

  /** Removes the newest queued message: the user took it back. */
  takeBack(text) {
    const at = this.items.findLastIndex((item) => item.queued && item.text === text);
    if (at >= 0) this.items.splice(at, 1);
    this.#reindex();
  }

  /** Returns the changed item, `true` if all may have changed, or null. */
  apply(name, data, seq) {
    if (!this.isLoaded) {
      this.#waiting.push([name, data, seq]);
      return null;
    }
    if (seq && seq <= this.seq) return null;
    if (seq) this.seq = seq;
    return this.#changes[name](data);
  }

  #changes = {
    item: ({ item }) => this.#put(item),
    text: (data) => this.#text(data),
    thinking: (data) => this.#text(data),
    call: ({ call }) => this.#call(call),
    progress: (data) => this.#progress(data),
  };

  #put(item) {
    const index = this.#index.get(item.id);
    const ended = index === undefined ? this.#endText() : null;
    const delivered = item.type === 'assistant' && index === undefined ? this.#deliver() : null;
    if (index === undefined) {
      this.#index.set(item.id, this.items.length);
      if (item.type === 'call') this.#calls.set(item.call.id, this.items.length);
      this.items.push(item);
    } else {
      this.items[index] = item;
    }
    return { item, isNew: index === undefined, ended, delivered };
  }

  /** The model answers: it has what was queued. */
  #deliver() {
    const queued = this.items.filter((item) => item.queued);
    for (const item of queued) item.queued = false;
    return queued;
  }

  /** The next item ends the text that grew before it. */
  #endText() {
    const last = this.items.at(-1);
    if (!last?.streaming) return null;
    last.streaming = false;
    return last;
  }

  #text({ item: id, delta, blocks }) {
    const item = this.item(id);
    if (!item) return null;
    item.text = (item.text ?? '') + delta;
    for (const [index, html] of blocks ?? []) (item.blocks ??= [])[index] = html;
    return { item, isNew: false };
  }

  #call(call) {
    const item = this.callItem(call.id);
    if (!item) return null;
    const before = item.call;
    item.call = call;
    if (call.state === 'running') call.lines ??= before.lines;
    return { item, isNew: false, before };
  }

  #progress({ call: id, line }) {
    const item = this.callItem(id);
    if (!item) return null;
    item.call.lines = [...(item.call.lines ?? []), line].slice(-3);
    return { item, isNew: false };
  }

  #reindex() {
    this.#index.clear();
    this.#calls.clear();
    this.items.forEach((item, index) => {
      this.#index.set(item.id, index);
      if (item.type === 'call') this.#calls.set(item.call.id, index);
    });
  }
}
