// Without the AsyncLocalStorage of jest-circus. Since 30.5 jest-circus runs each test in an AsyncLocalStorage, one for
// each file, and never disables it. Below Node 24 each of them slows every promise of the process down. In the fifth
// file of a worker 1,000,000 promises take 590 ms instead of 55, in the hundredth 10 s. Tests of a file run one after
// another here (no `it.concurrent`), so a variable is enough. To measure it: take this file out of the environments,
// and await 1,000,000 times null in each of five files.
import hooks from 'node:async_hooks';

const { AsyncLocalStorage } = hooks;

/** The part of AsyncLocalStorage that jest-circus uses, for callbacks that do not overlap. */
class SequentialStorage {
  static made = 0;

  constructor() {
    SequentialStorage.made++;
  }

  run(store, callback) {
    const outer = this.store;
    const leave = () => (this.store = outer);
    this.store = store;
    try {
      const result = callback();
      if (typeof result?.then === 'function') return result.finally(leave);
      leave();
      return result;
    } catch (error) {
      leave();
      throw error;
    }
  }

  getStore() {
    return this.store;
  }
}

/** Gives jest-circus the variable, while it is loaded. */
export function replaceStorage() {
  SequentialStorage.made = 0;
  hooks.AsyncLocalStorage = SequentialStorage;
}

export function restoreStorage() {
  hooks.AsyncLocalStorage = AsyncLocalStorage;
}

/** Restores the hooks at the first event, after jest-circus is loaded, and before the file is. */
export function restoreAtSetup({ name }) {
  if (name !== 'setup') return;
  restoreStorage();
  if (SequentialStorage.made === 0) {
    throw new Error(
      'jest-circus makes no AsyncLocalStorage any more: take test/support/sequential-storage.mjs out',
    );
  }
}
