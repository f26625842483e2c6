// How a state looks: an icon, a word, and one of three colours.

const CALL = {
  queued: ['○', 'queued', ''],
  planning: ['○', 'planning', ''],
  waiting: ['◐', 'waiting for you', 'ask'],
  running: ['◌', 'running', ''],
  success: ['✓', 'done', 'ok'],
  error: ['✗', 'failed', 'fail'],
  denied: ['⊘', 'denied', 'fail'],
  cancelled: ['■', 'cancelled', 'ask'],
  timed_out: ['✗', 'timed out', 'fail'],
  blocked: ['⊘', 'blocked: loop', 'fail'],
  interrupted: ['■', 'interrupted', 'fail'],
  undone: ['↶', 'undone', 'ask'],
};
const VERDICT = {
  allow: ['✓', 'allow', 'ok'],
  pass: ['–', 'no opinion', ''],
  ask: ['!', 'ask', 'ask'],
  deny: ['✗', 'deny', 'fail'],
};
const CHECK = {
  ok: ['✓', 'ok', 'ok'],
  warning: ['!', 'warning', 'ask'],
  error: ['✗', 'fails', 'fail'],
};
const SESSION = {
  idle: ['', 'idle', ''],
  running: ['◌', 'running', 'ok'],
  waiting: ['◐', 'waiting for you', 'ask'],
  done: ['✓', 'done', 'ok'],
  failed: ['✗', 'failed', 'fail'],
  cancelled: ['■', 'cancelled', 'ask'],
};

const look = (table, state) => {
  const [icon, word, kind] = (Object.hasOwn(table, state) && table[state]) || ['?', String(state ?? 'unknown'), ''];
  return { icon, word, kind };
};

export const callLook = (call) => look(CALL, call.undone ? 'undone' : call.state);
export const verdictLook = (verdict) => look(VERDICT, verdict);
export const checkLook = (status) => look(CHECK, status);
export const sessionLook = (state) => look(SESSION, state);
export const CALL_STATES = Object.keys(CALL);

/** States in which a call has no result yet. */
export const isOpen = (call) => ['queued', 'planning', 'waiting', 'running'].includes(call.state);
export const hasFailed = (call) => ['error', 'denied', 'timed_out', 'blocked', 'interrupted'].includes(call.state);
