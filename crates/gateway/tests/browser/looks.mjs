// What can be measured of how a page looks and how it is used.

/** Elements with text of their own whose colours are too near each other. Runs in the page. */
export function weakContrasts() {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgb = (color, below = [255, 255, 255]) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b].map((part, at) => (part * a + below[at] * (255 - a)) / 255);
  };
  const light = (color) => {
    const [r, g, b] = color.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (element) => {
    if (!element) return rgb('Canvas');
    const { backgroundColor } = getComputedStyle(element);
    return backgroundColor === 'rgba(0, 0, 0, 0)' ? back(element.parentElement) : rgb(backgroundColor, back(element.parentElement));
  };
  return [...document.querySelectorAll('haft-shell *, dialog[open] *')]
    .filter(
      (each) =>
        [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) &&
        each.checkVisibility() &&
        !each.closest('.visually-hidden, .skip, :disabled'),
    )
    .flatMap((each) => {
      const [a, b] = [light(rgb(getComputedStyle(each).color)), light(back(each))].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      return ratio < 4.5 ? [`${each.tagName}.${each.className}: ${ratio.toFixed(2)}`] : [];
    });
}

/** Buttons that are lower than a finger needs. Those within a sentence are links. Runs in the page. */
export function smallTargets() {
  return [...document.querySelectorAll('button:not(.link), a.button, select, .rail.open nav a, .bottom-bar a')]
    .filter((each) => each.checkVisibility() && !each.closest('.visually-hidden') && each.getBoundingClientRect().height < 43.5)
    .map((each) => `${each.tagName} ${each.ariaLabel ?? each.textContent}: ${each.getBoundingClientRect().height} px`);
}

/** Presses Tab until every control had the focus or it goes round again; returns those of a part that had none, or did not show it. */
export async function unreachedByTab(page, part = 'body') {
  await page.evaluate(watchFocus, part);
  let missed = [];
  // What comes while it goes round is reached in the next round.
  for (let round = 0; round < 3; round += 1) {
    const count = await page.evaluate(() => window.watchedFocus.count());
    for (let pressed = 0; pressed < count + 8; pressed += 1) await page.press('Tab');
    missed = await page.evaluate(() => window.watchedFocus());
    if (missed.length === 0) break;
  }
  await page.evaluate(() => window.watchedFocus.end());
  return missed;
}

/** Notes what gets the focus. Runs in the page. */
function watchFocus(part) {
  const reached = new Set();
  const silent = new Set();
  const isShown = (element) => getComputedStyle(element).outlineStyle !== 'none';
  const note = ({ target }) => {
    reached.add(target);
    // The message has its ring around the whole box.
    if (!isShown(target) && !isShown(target.parentElement)) silent.add(target);
  };
  document.addEventListener('focusin', note);
  const selector = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  const controls = () => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled && each.tabIndex >= 0);
  const nameOf = (each) => `${each.tagName} ${each.ariaLabel ?? (each.textContent || each.name || each.type)}`.slice(0, 80);
  window.watchedFocus = () => {
    // Of radio buttons one is reached, the others with the arrows.
    const isReached = (each) => reached.has(each) || (each.type === 'radio' && [...reached].some((other) => other.name === each.name));
    const missed = controls().filter((each) => each.closest(part) && !isReached(each));
    return [...missed.map((each) => `not reached: ${nameOf(each)}`), ...[...silent].map((each) => `no ring: ${nameOf(each)}`)];
  };
  window.watchedFocus.count = () => controls().length;
  window.watchedFocus.end = () => document.removeEventListener('focusin', note);
  document.activeElement.blur();
}
