// A list of which only the rows near the view are in the document. Rows may differ in height and may change it.

const OVERSCAN = 600;

class VirtualList extends HTMLElement {
  #items = [];
  #heights = new Map();
  #offsets = [0];
  #rows = new Map();
  #render = () => document.createElement('div');
  #key = (item) => item.id;
  #estimate = () => 44;
  #frame = 0;
  #isAtEnd = true;
  #top = 0;
  #observer = new ResizeObserver((entries) => this.#measure(entries));

  /** `render(item, row)` makes or refreshes a row; `key` names an item; `estimate` guesses a height not yet measured. */
  setup({ render, key, estimate, sticky = false }) {
    this.#render = render;
    this.#key = key ?? this.#key;
    this.#estimate = estimate ?? this.#estimate;
    this.sticky = sticky;
    return this;
  }

  connectedCallback() {
    if (this.canvas) return;
    this.canvas = document.createElement('div');
    this.canvas.className = 'canvas';
    this.canvas.setAttribute('role', this.dataset.role ?? 'list');
    if (this.dataset.label) this.canvas.setAttribute('aria-label', this.dataset.label);
    this.append(this.canvas);
    this.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#schedule()).observe(this);
  }

  get isAtEnd() {
    return this.#isAtEnd;
  }

  get items() {
    return this.#items;
  }

  /** Shows these items; rows of the same key are kept. */
  set items(items) {
    const anchor = this.#anchor();
    this.#items = items;
    this.#layout();
    this.#restore(anchor);
    this.#schedule();
  }

  /** Draws the row of one item again, if it is in the document. */
  refresh(key) {
    const row = this.#rows.get(key);
    if (row) row.stale = true;
    this.#schedule();
  }

  scrollToEnd() {
    this.#isAtEnd = true;
    this.scrollTop = this.scrollHeight;
    this.#schedule();
  }

  scrollToKey(key) {
    const index = this.#items.findIndex((item) => this.#key(item) === key);
    if (index < 0) return;
    this.#isAtEnd = false;
    this.scrollTop = Math.max(0, this.#offsets[index] - 40);
    this.#draw();
    this.scrollTop = Math.max(0, this.#offsets[index] - 40);
  }

  /** The element of an item that is in the document. */
  rowOf(key) {
    return this.#rows.get(key)?.element;
  }

  #scrolled() {
    const isNear = this.scrollHeight - this.scrollTop - this.clientHeight < 24;
    // What grows in it, or takes its room, does not leave the end: only a user who scrolls up does.
    this.#isAtEnd = isNear || (this.#isAtEnd && this.scrollTop >= this.#top);
    this.#top = this.scrollTop;
    this.#schedule();
    this.dispatchEvent(new CustomEvent('viewchange'));
  }

  #schedule() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #layout(from = 0) {
    const offsets = this.#offsets;
    offsets.length = this.#items.length + 1;
    offsets[0] = 0;
    for (let index = from; index < this.#items.length; index += 1) {
      const item = this.#items[index];
      offsets[index + 1] = offsets[index] + (this.#heights.get(this.#key(item)) ?? this.#estimate(item));
    }
    if (this.canvas) this.canvas.style.height = `${offsets[this.#items.length]}px`;
  }

  #indexAt(top) {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#offsets[middle + 1] <= top) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #anchor() {
    if (!this.#items.length || (this.sticky && this.#isAtEnd)) return null;
    const index = Math.min(this.#indexAt(this.scrollTop), this.#items.length - 1);
    return { key: this.#key(this.#items[index]), shift: this.scrollTop - this.#offsets[index], index };
  }

  #restore(anchor) {
    if (this.sticky && this.#isAtEnd) {
      this.scrollTop = this.scrollHeight;
      return;
    }
    if (!anchor) return;
    const isSame = this.#items[anchor.index] && this.#key(this.#items[anchor.index]) === anchor.key;
    const index = isSame ? anchor.index : this.#items.findIndex((item) => this.#key(item) === anchor.key);
    if (index < 0) return;
    const top = this.#offsets[index] + anchor.shift;
    if (Math.abs(top - this.scrollTop) > 0.5) this.scrollTop = top;
  }

  #measure(entries) {
    let first = this.#items.length;
    for (const entry of entries) {
      const row = entry.target.virtualRow;
      const height = entry.borderBoxSize[0].blockSize;
      if (!row || !height || this.#heights.get(row.key) === height) continue;
      this.#heights.set(row.key, height);
      first = Math.min(first, row.index);
    }
    if (first >= this.#items.length) return;
    const anchor = this.#anchor();
    this.#layout(first);
    for (const row of this.#rows.values()) this.#position(row);
    this.#restore(anchor);
    this.#schedule();
  }

  #draw() {
    if (!this.canvas || !this.isConnected) return;
    const first = this.#indexAt(Math.max(0, this.scrollTop - OVERSCAN));
    const bottom = this.scrollTop + (this.clientHeight || 600) + OVERSCAN;
    const wanted = new Set();
    let before = null;
    for (let index = first; index < this.#items.length && this.#offsets[index] < bottom; index += 1) {
      const item = this.#items[index];
      const row = this.#row(this.#key(item), item, index);
      wanted.add(row.key);
      const next = before ? before.nextSibling : this.canvas.firstChild;
      if (row.element !== next) this.canvas.insertBefore(row.element, next);
      before = row.element;
    }
    for (const [key, row] of this.#rows) {
      if (!wanted.has(key) && !row.element.contains(document.activeElement)) this.#drop(key, row);
    }
    if (this.sticky && this.#isAtEnd) this.scrollTop = this.scrollHeight;
  }

  #row(key, item, index) {
    let row = this.#rows.get(key);
    if (!row) {
      row = { key, element: this.#render(item, null, index), stale: false };
      row.element.virtualRow = row;
      row.element.classList.add('virtual-row');
      if (!row.element.hasAttribute('role')) row.element.setAttribute('role', 'listitem');
      this.#rows.set(key, row);
      this.#observer.observe(row.element);
    } else if (row.stale || row.item !== item) {
      this.#render(item, row.element, index);
      row.stale = false;
    }
    row.item = item;
    if (row.index !== index || row.size !== this.#items.length) {
      row.index = index;
      row.size = this.#items.length;
      row.element.setAttribute('aria-posinset', index + 1);
      row.element.setAttribute('aria-setsize', this.#items.length);
    }
    this.#position(row);
    return row;
  }

  #position(row) {
    const top = this.#offsets[row.index];
    if (row.top === top) return;
    row.top = top;
    row.element.style.transform = `translateY(${top}px)`;
  }

  #drop(key, row) {
    this.#observer.unobserve(row.element);
    row.element.remove();
    this.#rows.delete(key);
  }
}

customElements.define('haft-list', VirtualList);
