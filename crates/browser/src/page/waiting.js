// Conditions that are waited for.

const matchesAddress = (wanted) => {
  if (!wanted.includes("*")) return location.href.includes(wanted);
  const pattern = wanted.split(/\*+/).map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join(".*");
  return new RegExp(`^${pattern}$`).test(location.href);
};

const holds = (condition) => {
  const text = () => (document.body?.innerText ?? "").replace(/\s+/g, " ");
  if (condition.text !== undefined) return text().includes(condition.text);
  if (condition.textGone !== undefined) return !text().includes(condition.textGone);
  if (condition.selector !== undefined) return find(condition.selector)?.checkVisibility({ visibilityProperty: true }) ?? false;
  if (condition.url !== undefined) return matchesAddress(condition.url);
  return true;
};

/** Resolves with true when the condition holds, with false when the time is up. */
const until = (condition, patience) => new Promise((resolve, reject) => {
  let timer;
  let again;
  const observer = new MutationObserver(() => check());
  const end = (value) => {
    observer.disconnect();
    clearTimeout(timer);
    clearInterval(again);
    resolve(value);
  };
  const check = () => {
    try {
      if (holds(condition)) end(true);
    } catch (error) {
      observer.disconnect();
      clearTimeout(timer);
      clearInterval(again);
      reject(error);
    }
  };
  timer = setTimeout(() => end(false), patience);
  // Styles and addresses change without a mutation.
  again = setInterval(check, 100);
  observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  check();
});
