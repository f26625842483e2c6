// Light, dark, or as the system says.

const KEY = 'haft.theme';

export function theme() {
  return localStorage.getItem(KEY) ?? 'system';
}

export function applyTheme(name = theme()) {
  localStorage.setItem(KEY, name);
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}
