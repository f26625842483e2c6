// Numbers and times with their units.

export function duration(milliseconds) {
  if (milliseconds == null) return '';
  if (milliseconds < 10) return `${Math.round(milliseconds * 10) / 10} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function clock(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

export function bytes(count) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export function tokens(count) {
  if (count == null) return '–';
  if (count < 1000) return String(count);
  return count < 1e6 ? `${(count / 1000).toFixed(count < 1e5 ? 1 : 0)}k` : `${(count / 1e6).toFixed(2)}M`;
}

/** Dollars; an unknown price is never shown as $0. */
export function money(dollars) {
  if (dollars == null) return 'price unknown';
  if (dollars === 0) return '$0';
  return dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

/** A part of a whole: `3 (12 %)`. */
export const share = (part, whole) => `${part} (${Math.round((100 * part) / Math.max(1, whole))} %)`;

/** Parts in a line, without those that are not there. */
export const joined = (parts, sign = ' · ') => parts.filter(Boolean).join(sign);

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const SECONDS = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** With seconds, for spans of a few minutes. */
export function seconds(value) {
  return SECONDS.format(new Date(value));
}

export function time(value) {
  return value ? TIME.format(new Date(value)) : '';
}

/** The time today, the day and the time otherwise. */
export function when(value) {
  if (!value) return '';
  const date = new Date(value);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? TIME.format(date) : `${DAY.format(date)} ${TIME.format(date)}`;
}

export function fullTime(value) {
  return value ? FULL.format(new Date(value)) : '';
}

/** Today, Yesterday or the day: the heading of a group in a list. */
export function dayName(value) {
  const date = new Date(value);
  const yesterday = new Date(Date.now() - 86_400_000);
  if (date.toDateString() === new Date().toDateString()) return 'Today';
  return date.toDateString() === yesterday.toDateString() ? 'Yesterday' : DAY.format(date);
}

export function ago(value) {
  const seconds = Math.max(0, (Date.now() - new Date(value).getTime()) / 1000);
  if (seconds < 60) return 'just now';
  return `${duration(seconds * 1000).replace(/ (min|h) .*/, ' $1')} ago`;
}
