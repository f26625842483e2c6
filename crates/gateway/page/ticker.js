// Elapsed and remaining times, drawn twice a second for all elements that carry a start or an end.

import { setText } from './dom.js';
import { clock, duration } from './format.js';

/** Draws all of them now. */
export function tick() {
  const now = Date.now() - skew;
  for (const element of document.querySelectorAll('[data-started]')) {
    const elapsed = now - new Date(element.dataset.started).getTime();
    if (elapsed >= 0) setText(element, duration(Math.floor(elapsed / 100) * 100));
  }
  for (const element of document.querySelectorAll('[data-expires]')) {
    const left = (new Date(element.dataset.expires).getTime() - now) / 1000;
    setText(element, left > 0 ? `expires in ${clock(left)}` : 'expired');
  }
}

let skew = 0;

/** How far this machine's clock is before the server's, from a response's Date header. */
export function setClockSkew(serverDate) {
  const difference = Date.now() - new Date(serverDate).getTime();
  skew = Math.abs(difference) > 5_000 ? difference : 0;
}

export function startTicker() {
  setInterval(tick, 500);
}
