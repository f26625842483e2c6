// What every part of the page uses, under one address. Files that are listed here import each other directly.

export * from './api.js';
export * from './dom.js';
export * from './format.js';
export * from './notices.js';
export * from './on-demand.js';
export * from './places.js';
export * from './router.js';
export * from './states.js';
export * from './store.js';
export * from './theme.js';
export * from './ticker.js';
export * from './elements/choices.js';
export * from './elements/dialog.js';
export * from './elements/menu.js';
export * from './elements/page.js';
export * from './elements/tabs.js';
export * from './elements/trace.js';
