// Files that the user drops, pastes or chooses: pictures and texts that go with the next message.

import { button, bytes, fill, h, prevent, small, toast } from '../core.js';

const MOST_FILES = 10;
const MOST_BYTES = 2_900_000;

/** Takes what is dropped on the page or pasted into `text`, until `end` is called. */
export function droppedFiles(text) {
  let files = [];
  const input = h('input', { type: 'file', multiple: true, hidden: true, onchange: () => add(input.files) });
  const list = h('div.chips', { role: 'list', label: 'Files that go with the message', hidden: true });
  const attach = button('+', () => input.click(), { title: 'Attach pictures or texts (or drop them here)', label: 'Attach files' });
  const take = (event, given) => {
    if (!given?.length) return;
    prevent(event);
    add(given);
  };
  const drop = (event) => take(event, event.dataTransfer?.files);
  // Without it the browser would leave the page and show the file.
  const over = (event) => event.dataTransfer?.types.includes('Files') && prevent(event);
  addEventListener('dragover', over);
  addEventListener('drop', drop);
  text.addEventListener('paste', (event) => take(event, event.clipboardData?.files));
  return {
    button: attach,
    element: h('div', list, input),
    count: () => files.length,
    names: () => files.map((file) => file.name).join(', '),
    /** The files as the server takes them. */
    content: () => Promise.all(files.map(async (file) => ({ name: file.name, data: await base64(file) }))),
    clear: () => set([]),
    end() {
      removeEventListener('dragover', over);
      removeEventListener('drop', drop);
    },
  };

  function add(more) {
    const all = [...files, ...more];
    const size = all.reduce((sum, file) => sum + file.size, 0);
    const isTooMuch = all.length > MOST_FILES || size > MOST_BYTES;
    input.value = '';
    if (!isTooMuch) return set(all);
    const fix = 'Put larger files into the workspace, and name them with @.';
    return toast(`A message takes at most ${MOST_FILES} files of ${MOST_BYTES / 1e6} MB together.`, { fix, kind: 'fail' });
  }

  function set(next) {
    files = next;
    list.hidden = !files.length;
    fill(list, files.map(chip));
  }

  function chip(file) {
    const { name } = file;
    const remove = () => set(files.filter((other) => other !== file));
    const size = small(bytes(file.size));
    return h('span.chip', { role: 'listitem' }, name, ' ', size, button('×', remove, { label: `Remove ${name}` }));
  }
}

async function base64(file) {
  const reader = new FileReader();
  await new Promise((resolve, reject) => {
    reader.onload = resolve;
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
  return reader.result.slice(reader.result.indexOf(',') + 1);
}
