// Elements keep the number that they got first, as long as they live.

const numbers = new WeakMap();
const elements = new Map();
const gone = new FinalizationRegistry((number) => elements.delete(number));
let next = 1;

const numberOf = (element) => {
  let number = numbers.get(element);
  if (number === undefined) {
    number = next++;
    numbers.set(element, number);
    elements.set(number, new WeakRef(element));
    gone.register(element, number);
  }
  return number;
};

const fail = (kind, message) => {
  throw new Error(`haft:${kind}:${message}`);
};

const elementOf = (number) => {
  const element = elements.get(number)?.deref();
  if (!element || !element.isConnected) fail("stale", "");
  return element;
};
