// Staged changes of one command: its files as a tree, the diff of each, and what becomes of every path.

import {
  act,
  api,
  badge,
  bytes,
  fill,
  h,
  load,
  openUndo,
  pathTo,
  plural,
  renderedRegion,
  store,
  toast,
  visible,
  visibleText,
  when,
} from '../core.js';

const KINDS = { created: ['ok', '+ new'], changed: ['ask', '± changed'], deleted: ['fail', '− deleted'] };
/** More are decided on together, so that the page stays quick. */
const SHOWN = 200;

/** A set with its tree; `detail` is where a diff is shown. */
export function stagedSet(set, detail) {
  const body = h('div.stack');
  load(
    body,
    () => api.get(pathTo('changes', set.id)),
    (whole) => new SetReview(whole, detail).element,
  );
  const counts = Object.entries(KINDS).map(([kind, [, word]]) => set[kind] > 0 && `${set[kind]} ${word.slice(2)}`);
  return h(
    'section.box.stack',
    { 'aria-label': `Changes of ${visibleText(set.command)}` },
    h('h2', h('code', visible(set.command))),
    h('p.muted', [when(set.made), ...counts].filter(Boolean).join(' · ')),
    body,
  );
}

class SetReview {
  constructor(set, detail) {
    this.set = set;
    this.detail = detail;
    this.boxes = [];
    const shown = set.files.slice(0, SHOWN);
    this.rest = set.files.slice(SHOWN);
    this.applied = new Set(set.files.filter((file) => file.applies).map((file) => file.path));
    this.button = h('button.primary', { onclick: () => this.#decide() });
    this.element = h(
      'div.stack',
      set.refused && h('p.call-error', `It cannot be applied: ${set.refused}`),
      this.#list(treeOf(shown), []),
      this.rest.length > 0 && this.#row({ name: `${plural(this.rest.length, 'more path')}`, below: this.rest }, []),
      h('div.row', this.button, h('span.muted', 'What is ticked is applied as one call, which can be undone. The rest is forgotten.')),
    );
    this.#update();
  }

  #list(nodes, above) {
    return h(
      'ul.tree',
      nodes.map((node) => h('li', this.#row(node, above), node.nodes.length > 0 && this.#list(node.nodes, [...above, node]))),
    );
  }

  #row(node, above) {
    const files = node.below;
    const box = h('input', {
      type: 'checkbox',
      'aria-label': `Apply ${visibleText(node.file?.name ?? node.name)}`,
      disabled: !files.some((file) => file.applies),
      onchange: () => this.#tick(files, box.checked, above),
    });
    this.boxes.push({ box, files });
    const [kind, word] = KINDS[node.file?.kind] ?? [];
    return h(
      'div.row',
      box,
      node.file ? h('button.link', { onclick: () => this.#show(node.file) }, visible(node.name)) : h('span', visible(node.name)),
      word && badge(word, kind),
      node.file?.entry === 'file' && h('span.source', bytes(node.file.size ?? 0)),
      node.file?.target && h('span.source', '→ ', visible(node.file.target)),
    );
  }

  /** A new folder is applied with what is in it, and not without its own new folders. */
  #tick(files, isTicked, above) {
    const changed = files.filter((file) => file.applies);
    const folders = isTicked ? above.map((node) => node.file).filter(Boolean) : [];
    for (const file of [...changed, ...folders]) this.applied[isTicked ? 'add' : 'delete'](file.path);
    this.#update();
  }

  #update() {
    for (const { box, files } of this.boxes) {
      const ticked = files.filter((file) => this.applied.has(file.path)).length;
      box.checked = ticked === files.length;
      box.indeterminate = ticked > 0 && ticked < files.length;
    }
    const dropped = this.set.files.length - this.applied.size;
    const parts = [this.applied.size > 0 && `Apply ${plural(this.applied.size, 'path')}`, dropped > 0 && `drop ${dropped}`];
    this.button.textContent = parts.filter(Boolean).join(', ').replace(/^d/, 'D');
    this.button.disabled = Boolean(this.set.refused) || !store.can('admin');
  }

  async #decide() {
    const paths = this.set.files.map((file) => file.path);
    const decision = { apply: paths.filter((path) => this.applied.has(path)), drop: paths.filter((path) => !this.applied.has(path)) };
    const answer = await act(this.button, () => api.post(pathTo('changes', this.set.id), decision));
    if (!answer) return;
    fill(this.detail);
    const { call } = answer;
    if (!call) toast(`Dropped ${plural(answer.dropped, 'path')}.`, { kind: 'ok' });
    else if (call.state !== 'success') toast(call.message ?? 'The changes were not applied.', { fix: call.help ?? '', kind: 'fail' });
    else {
      const undo = { label: 'Undo…', run: () => openUndo(pathTo('history', call.record, '/undo'), 'these changes') };
      toast(`Applied ${plural(decision.apply.length, 'path')}.`, { kind: 'ok', action: call.record ? undo : null });
    }
  }

  #show({ path, name, entry }) {
    load(
      this.detail,
      () => api.get(pathTo('changes', this.set.id, '/diff'), { path }),
      (file) => h('div.box.stack', h('h2', visible(name)), file.diff ? renderedRegion(file.diff_html) : h('p.muted', why(file, entry))),
    );
  }
}

/** Why there is no diff. */
function why({ diff, hidden }, entry) {
  if (hidden) return 'Tools may not read its content.';
  return diff === '' ? 'The workspace has this content already.' : `There is no text to compare (${entry}).`;
}

/** Files as folders and files in them; `below` are all files at and beneath a node. */
function treeOf(files) {
  const root = { nodes: [], byName: new Map() };
  for (const file of files) {
    let folder = root;
    const above = [];
    for (const name of file.name.split('/')) {
      if (!folder.byName.has(name)) {
        const node = { name, nodes: [], byName: new Map(), below: [] };
        folder.byName.set(name, node);
        folder.nodes.push(node);
      }
      folder = folder.byName.get(name);
      above.push(folder);
    }
    folder.file = file;
    for (const node of above) node.below.push(file);
  }
  return root.nodes;
}
