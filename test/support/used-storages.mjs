// Disables each AsyncLocalStorage at the end of the test file that used it. Below Node 24 a used storage slows every
// promise of the process down, also in later files. Three of them cost eight specs of workers and apps a tenth of their CPU.
import { AsyncLocalStorage } from 'node:async_hooks';

const used = new Set();

for (const method of ['run', 'enterWith']) {
  const own = AsyncLocalStorage.prototype[method];
  AsyncLocalStorage.prototype[method] = function (...args) {
    used.add(this);
    return own.apply(this, args);
  };
}

/** Disables the storages that were used since the last call. The next use enables a storage again. */
export function disableStorages() {
  for (const storage of used) storage.disable();
  used.clear();
}
