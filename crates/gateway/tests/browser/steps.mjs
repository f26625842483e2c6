// Steps that build on each other: after one that failed, the rest would only wait for what cannot come.

import { test } from 'node:test';

const STEP_TIME = 150_000;
let failed = null;

/** A test that is skipped when a step before it failed. */
export function step(name, run) {
  test(name, { timeout: STEP_TIME }, async (context) => {
    if (failed) return context.skip(`“${failed}” failed before`);
    failed = name;
    await run(context);
    failed = null;
  });
}
