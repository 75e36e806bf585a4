// The environment of a test file that mocks modules or timers. It has a realm of its own, and each module anew. Such a
// file begins with `@jest-environment ./test/support/own-environment.mjs`.
import { TestEnvironment } from 'jest-environment-node';
import './end-at-once.mjs';
import './optimize-later.mjs';
import { keepCompiledCode } from './code-cache.mjs';
import { replaceStorage, restoreAtSetup, restoreStorage } from './sequential-storage.mjs';
import { disableStorages } from './used-storages.mjs';

keepCompiledCode();

export default class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.optionsOfFile = config.projectConfig.testEnvironmentOptions;
  }

  async setup() {
    await super.setup();
    Object.assign(this.global.process.env, this.optionsOfFile.env);
    replaceStorage();
  }

  handleTestEvent(event) {
    restoreAtSetup(event);
  }

  async teardown() {
    restoreStorage();
    disableStorages();
    await super.teardown();
  }
}
