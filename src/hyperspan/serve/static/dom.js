// Small helpers to build elements; strings become text nodes, never markup.

export const $ = (id) => document.getElementById(id);

/** An element with properties (data-, aria- and other attributes by their names) and children. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Replaces the children of an element; focus stays on the child with the same data-key, if it was on one. */
export function fill(element, ...children) {
  const key = element.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  element.replaceChildren(...children);
  if (key !== undefined) element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

/** A function that runs `action` after a delay, once, however often it is called; its first argument is the delay in ms. */
export function debounced(action) {
  let timer = 0, waiting = null;
  const flush = () => {
    const args = waiting;
    run.stop();
    if (args) action(...args);
  };
  const run = (delay, ...args) => {
    clearTimeout(timer);
    waiting = args;
    timer = setTimeout(flush, delay);
  };
  run.flush = flush;
  run.isWaiting = () => waiting !== null;
  run.stop = () => {
    clearTimeout(timer);
    waiting = null;
  };
  return run;
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
