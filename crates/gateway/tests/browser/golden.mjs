// Compares an accessibility tree with the stored one, and keeps a screenshot beside it as an artefact.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pause } from './owned.mjs';

const TREES = fileURLToPath(new URL('trees', import.meta.url));
/** How long a page may take to show the last of it. */
const SETTLING = 15_000;
const SHOTS = process.env.HAFT_SCREENSHOTS ?? join(tmpdir(), 'haft-screenshots');

/** `UPDATE_TREES=1` stores what the page shows now. */
export async function matchTree(page, name, part = null) {
  const file = join(TREES, `${name}.txt`);
  if (process.env.UPDATE_TREES) writeFileSync(file, await settled(page, part));
  assert.ok(existsSync(file), `there is no tree ${name}: run again with UPDATE_TREES=1, and look at the result`);
  const wanted = readFileSync(file, 'utf8');
  const end = Date.now() + SETTLING;
  let tree = await page.tree(part);
  while (tree !== wanted && Date.now() < end) {
    await pause(50);
    tree = await page.tree(part);
  }
  mkdirSync(SHOTS, { recursive: true });
  writeFileSync(join(SHOTS, `${name}.png`), await page.screenshot());
  assert.equal(tree, wanted, `the page differs from trees/${name}.txt; UPDATE_TREES=1 stores the new one`);
}

/** The tree when it has stopped to change. */
async function settled(page, part) {
  for (let before = null; ; ) {
    const tree = await page.tree(part);
    if (tree === before) return tree;
    before = tree;
    await pause(500);
  }
}
