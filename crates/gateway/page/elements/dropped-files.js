// Files that the user drops, pastes or chooses: pictures and texts that go with the next message.

import { fill, h, plural, toast, visibleText } from '../core.js';

const MOST_FILES = 10;
const MOST_BYTES = 2_900_000;

export class DroppedFiles {
  #files = [];
  #input = h('input', { type: 'file', multiple: true, hidden: true, onchange: () => this.#add(this.#input.files) });
  #list = h('div.chips', { role: 'list', 'aria-label': 'Files that go with the message', hidden: true });
  button = h(
    'button.attach',
    { title: 'Attach pictures or texts (or drop them here)', 'aria-label': 'Attach files', onclick: () => this.#input.click() },
    '+',
  );
  element = h('div', this.#list, this.#input);

  /** Takes what is dropped on the page or pasted into the text; returns a function that ends that. */
  listen(text) {
    const hasFiles = (event) => event.dataTransfer?.types.includes('Files');
    // Without it the browser would leave the page and show the file.
    const over = (event) => hasFiles(event) && event.preventDefault();
    const drop = (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.#add(event.dataTransfer.files);
    };
    const paste = (event) => event.clipboardData?.files.length && (event.preventDefault(), this.#add(event.clipboardData.files));
    addEventListener('dragover', over);
    addEventListener('drop', drop);
    text.addEventListener('paste', paste);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('drop', drop);
    };
  }

  get count() {
    return this.#files.length;
  }

  get names() {
    return this.#files.map((file) => file.name).join(', ');
  }

  /** The files as the server takes them. */
  content() {
    return Promise.all(this.#files.map(async (file) => ({ name: file.name, data: await base64(file) })));
  }

  clear() {
    this.#files = [];
    this.#draw();
  }

  #add(files) {
    const all = [...this.#files, ...files];
    const size = all.reduce((sum, file) => sum + file.size, 0);
    if (all.length > MOST_FILES || size > MOST_BYTES) {
      const fix = 'Put larger files into the workspace, and name them with @.';
      toast(`A message takes at most ${MOST_FILES} files of ${MOST_BYTES / 1e6} MB together.`, { fix, kind: 'fail' });
    } else this.#files = all;
    this.#input.value = '';
    this.#draw();
  }

  #draw() {
    this.#list.hidden = !this.#files.length;
    fill(
      this.#list,
      this.#files.map((file) => {
        const remove = () => {
          this.#files = this.#files.filter((other) => other !== file);
          this.#draw();
        };
        const name = visibleText(file.name);
        return h(
          'span.chip',
          { role: 'listitem' },
          name,
          ' ',
          h('small', size(file)),
          h('button', { 'aria-label': `Remove ${name}`, onclick: remove }, '×'),
        );
      }),
    );
  }
}

function size(file) {
  return file.size < 1000 ? plural(file.size, 'byte') : `${Math.ceil(file.size / 1000)} kB`;
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
