// Processes that end with the test, whatever ends it.

import { spawn } from 'node:child_process';

/** Starts a program that gets `signal` when this process dies, also when it is killed. */
export function spawnOwned(program, values, { signal = 'KILL', ...options }) {
  if (process.platform !== 'linux') return spawn(program, values, options);
  return spawn('setpriv', ['--pdeathsig', signal, '--', program, ...values], options);
}

/** Ends a child: as `ask` does, and by force if that takes more than `patience` milliseconds. */
export async function end(child, ask, patience) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), patience);
  ask();
  await ended;
  clearTimeout(timer);
}

export const pause = (milliseconds) =>
  new Promise((done) => {
    setTimeout(done, milliseconds);
  });

/** The outcome of a promise, or an error that says what did not come. */
export async function within(milliseconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} in ${milliseconds / 1000} s`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
