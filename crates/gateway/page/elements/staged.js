// Staged changes of one command: its files as a tree, the diff of each, and what becomes of every path.

import {
  api,
  badge,
  button,
  bytes,
  checkbox,
  fill,
  h,
  inRow,
  inStack,
  isAdmin,
  joined,
  load,
  mono,
  muted,
  pathTo,
  plural,
  renderedRegion,
  toast,
  undoCall,
  visible,
  when,
} from '../core.js';

const KINDS = { created: ['ok', '+ new'], changed: ['ask', '± changed'], deleted: ['fail', '− deleted'] };
/** More are decided on together, so that the page stays quick. */
const SHOWN = 200;

/** A set with its tree; `detail` is where a diff is shown. */
export function stagedSet(set, detail) {
  const body = inStack();
  load(
    body,
    () => api.get(pathTo('changes', set.id)),
    (whole) => review(whole, detail),
  );
  const counts = Object.entries(KINDS).map(([kind, [, word]]) => set[kind] > 0 && `${set[kind]} ${word.slice(2)}`);
  return h(
    'section.box',
    { label: `Changes of ${set.command}` },
    h('h2', mono(visible(set.command))),
    muted(joined([when(set.made), ...counts])),
    body,
  );
}

function review({ id, files, refused }, detail) {
  /** Check boxes, and the files that each stands for. */
  const boxes = [];
  const rest = files.slice(SHOWN);
  const applied = new Set(files.filter((file) => file.applies).map((file) => file.path));
  const decision = button('', decide, { class: 'primary', disabled: Boolean(refused) || !isAdmin() });
  const element = inStack(
    refused && h('p.call-error', `It cannot be applied: ${refused}`),
    tree(treeOf(files.slice(0, SHOWN)), []),
    rest.length > 0 && row({ name: plural(rest.length, 'more path'), below: rest }, []),
    inRow(decision, h('span.muted', 'What is ticked is applied as one call, which can be undone. The rest is forgotten.')),
  );
  update();
  return element;

  function tree(nodes, above) {
    return h(
      'ul.tree',
      nodes.map((node) => h('li', row(node, above), node.nodes.length > 0 && tree(node.nodes, [...above, node]))),
    );
  }

  function row({ name, file, below }, above) {
    const box = checkbox({
      label: `Apply ${file?.name ?? name}`,
      disabled: !below.some((each) => each.applies),
      onchange: () => tick(below, box.checked, above),
    });
    boxes.push({ box, below });
    const [kind, word] = KINDS[file?.kind] ?? [];
    return inRow(
      box,
      file ? button(visible(name), () => show(file), 'link') : h('span', visible(name)),
      word && badge(word, kind),
      file?.entry === 'file' && h('span.source', bytes(file.size ?? 0)),
      file?.target && h('span.source', '→ ', visible(file.target)),
    );
  }

  /** A new folder is applied with what is in it, and not without its own new folders. */
  function tick(below, isTicked, above) {
    const changed = below.filter((file) => file.applies);
    const folders = isTicked ? above.map((node) => node.file).filter(Boolean) : [];
    for (const { path } of [...changed, ...folders]) applied[isTicked ? 'add' : 'delete'](path);
    update();
  }

  function update() {
    for (const { box, below } of boxes) {
      const ticked = below.filter((file) => applied.has(file.path)).length;
      box.checked = ticked === below.length;
      box.indeterminate = ticked > 0 && ticked < below.length;
    }
    const dropped = files.length - applied.size;
    const parts = [applied.size > 0 && `Apply ${plural(applied.size, 'path')}`, dropped > 0 && `drop ${dropped}`];
    decision.textContent = joined(parts, ', ').replace(/^d/, 'D');
  }

  async function decide() {
    const { true: apply = [], false: drop = [] } = Object.groupBy(
      files.map((file) => file.path),
      (path) => applied.has(path),
    );
    const { call, dropped } = await api.post(pathTo('changes', id), { apply, drop });
    fill(detail);
    if (!call) toast(`Dropped ${plural(dropped, 'path')}.`, { kind: 'ok' });
    else if (call.state !== 'success') toast(call.message ?? 'The changes were not applied.', { fix: call.help, kind: 'fail' });
    else {
      const undo = call.record && { label: 'Undo…', run: () => undoCall(call, 'these changes') };
      toast(`Applied ${plural(apply.length, 'path')}.`, { kind: 'ok', action: undo });
    }
  }

  function show({ path, name, entry }) {
    load(
      detail,
      () => api.get(pathTo('changes', id, '/diff'), { path }),
      (file) => h('div.box', h('h2', visible(name)), file.diff ? renderedRegion(file.diff_html) : muted(why(file, entry))),
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
    for (const name of file.name.split('/')) {
      if (!folder.byName.has(name)) {
        const node = { name, nodes: [], byName: new Map(), below: [] };
        folder.byName.set(name, node);
        folder.nodes.push(node);
      }
      folder = folder.byName.get(name);
      folder.below.push(file);
    }
    folder.file = file;
  }
  return root.nodes;
}
