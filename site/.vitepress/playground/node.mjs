// The few parts of Node that the queue and the worker use in memory, for the browser. Vite puts this file in the place of
// each `node:` module. What the playground does not use throws or does nothing.
const bytes = (count) => crypto.getRandomValues(new Uint8Array(count));

export const randomBytes = (count) => ({ toString: () => btoa(String.fromCharCode(...bytes(count))) });

/** Has the form of a digest. It only tells names apart here, so it need not be SHA-1. */
export function createHash() {
  let text = '';
  const hash = { update: (part) => ((text += part), hash), digest: () => fnv(text) };
  return hash;
}

function fnv(text) {
  let state = 2_166_136_261;
  for (const char of text) state = Math.imul(state ^ char.codePointAt(0), 16_777_619) >>> 0;
  return state.toString(16).padStart(40, '0');
}

export class AsyncResource {
  static bind = (run) => run;
  runInAsyncScope = (run, self, ...args) => run.apply(self, args);
}

export class AsyncLocalStorage {
  run = (_store, run, ...args) => run(...args);
  getStore() {}
}

export const types = { isNativeError: (value) => value instanceof Error, isDate: (value) => value instanceof Date };
/** `node:vm`: compiled scripts run in the page. */
// oxlint-disable-next-line no-eval -- the code is compiled from the scripts of the library
export default { runInThisContext: (code) => (0, eval)(code) };
export const hostname = () => 'browser';
export const basename = (path) => path.split('/').at(-1);
export const setMaxListeners = () => {};
export const promisify = () => missing;
export const isDeepStrictEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function missing() {
  throw new Error('This is not in the playground.');
}
export {
  missing as createCipheriv,
  missing as createDecipheriv,
  missing as gunzip,
  missing as gzip,
  missing as serialize,
  missing as receiveMessageOnPort,
  missing as MessageChannel,
};

/** The globals of Node. Import this file before the library. */
globalThis.process ??= {
  pid: 1,
  argv: [],
  title: 'playground',
  env: {},
  on() {},
  off() {},
  nextTick: (task) => void Promise.resolve().then(task),
};
globalThis.Buffer ??= class Buffer {
  static byteLength = (text) => new TextEncoder().encode(text).length;
  static isBuffer = () => false;
  static from(text, encoding) {
    const isBytes = encoding === 'latin1';
    const made = isBytes ? Uint8Array.from(text, (char) => char.charCodeAt(0)) : new TextEncoder().encode(text);
    const toString = (to) => (to === 'latin1' ? String.fromCharCode(...made) : new TextDecoder().decode(made));
    return Object.assign(made, { toString });
  }
};
