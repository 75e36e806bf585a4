// The environment of a test file: the realm of its process. All files of a worker share the library and its
// dependencies, which are loaded once (see shared-runtime.cjs). A file that mocks modules or timers takes
// own-environment.mjs. Changes of `process.env` and of globals end with the file.
import { ModuleMocker } from 'jest-mock';
import './end-at-once.mjs';
import './optimize-later.mjs';
import { keepCompiledCode, SHARED_REALM } from './code-cache.mjs';
import { replaceStorage, restoreAtSetup, restoreStorage } from './sequential-storage.mjs';
import { disableStorages } from './used-storages.mjs';

keepCompiledCode();

/** Where jest-circus keeps its listeners. Those of earlier files would get each event of later ones, and keep their modules. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');

/** The name of the symbol under which jest-circus keeps the tests of a file, with all that they hold. Each file has its own symbol. */
const STATE_OF_FILE = 'JEST_STATE_SYMBOL';

export default class SharedEnvironment {
  sharesModules = true;
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;
  fakeTimersModern = null;

  constructor({ projectConfig }) {
    this.env = { ...process.env };
    Object.assign(process.env, projectConfig.testEnvironmentOptions.env);
    this.exit = process.exit;
    this.globals = Object.getOwnPropertyDescriptors(globalThis);
    Error.stackTraceLimit = 100; // as jest-environment-node sets it
  }

  async setup() {
    replaceStorage();
  }

  handleTestEvent(event) {
    restoreAtSetup(event);
  }

  async teardown() {
    restoreStorage();
    disableStorages();
    delete globalThis[EVENT_HANDLERS];
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
      if (symbol.description === STATE_OF_FILE) delete globalThis[symbol];
    }
    process.exit = this.exit; // Jest wraps it for each file
    for (const name of Object.keys(process.env)) if (!(name in this.env)) delete process.env[name];
    Object.assign(process.env, this.env);
    for (const key of Reflect.ownKeys(globalThis)) {
      const before = this.globals[key];
      if (before?.configurable && before.value !== Object.getOwnPropertyDescriptor(globalThis, key).value) {
        Object.defineProperty(globalThis, key, before);
      }
    }
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return SHARED_REALM;
  }
}
