// The runtime of test files. In the shared environment the process itself loads the library (`src`) and its dependencies,
// once. Jest would load their 300 to 1,100 modules again for each file, which takes up to two seconds. The test files and
// their support stay modules of Jest, one copy for each file.
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const vm = require('node:vm');
const { default: Runtime } = require('jest-runtime');

const root = join(__dirname, '../..');
const nativeRequire = createRequire(__filename);
/** The modules of Jest itself belong to the file that they test. */
const OF_JEST = /\/node_modules\/(@jest\/|jest-|expect\/)/;
/** Of these each file has its own: they hold its tests. The others keep nothing, or keep it in the realm. */
const OF_RUN = /\/node_modules\/(@jest\/globals|jest-circus)\//;
/** It extends the `expect` of the file that imports it. */
const OF_FILE = join(root, 'src/testing-jest.ts');

const modules = new Map();
let hooks;
/** The scanner of `Test` of @nestjs/testing. It keeps each class that it has seen, and with it the apps of its file. */
let scanner;

function isShared(path) {
  if (path.startsWith(join(root, 'src/'))) return path !== OF_FILE && !path.endsWith('.json');
  return path.startsWith(join(root, 'node_modules/')) && !OF_JEST.test(path) && !path.endsWith('.json');
}

/** Returns a module of the process, in the form in which Jest links it. */
function sharedModule(path) {
  let module = modules.get(path);
  if (!module) {
    module = load(path);
    modules.set(path, module);
    module.catch(() => modules.delete(path));
  }
  return module;
}

async function load(path) {
  hooks ??= import('./typescript.mjs');
  await hooks;
  const exported = await import(pathToFileURL(path).href);
  if (exported.TestingModuleBuilder) scanner = exported.Test.metadataScanner;
  const names = Object.keys(exported);
  const module = new vm.SyntheticModule(
    names,
    () => names.forEach((name) => module.setExport(name, exported[name])),
    { identifier: path },
  );
  await module.link(() => undefined);
  await module.evaluate();
  return module;
}

module.exports = class SharedRuntime extends Runtime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest);
    if (!environment.sharesModules) return;
    this.sharesModules = true;
    const { esmLoader } = this;
    for (const [method, at] of [
      ['loadEsmModule', 0],
      ['loadCjsAsEsm', 1],
    ]) {
      const own = esmLoader[method].bind(esmLoader);
      esmLoader[method] = (...args) => (isShared(args[at]) ? sharedModule(args[at]) : own(...args));
    }
  }

  teardown() {
    super.teardown();
    if (this.sharesModules) scanner?.cachedScannedPrototypes.clear();
  }

  /** Jest's own modules: to run them again for each file takes longer than most files. */
  requireInternalModule(from, name) {
    if (this.sharesModules && name !== undefined && !this._resolution.isCoreModule(name)) {
      const path = createRequire(from).resolve(name);
      if (path.startsWith(join(root, 'node_modules/')) && !OF_RUN.test(path)) return nativeRequire(path);
    }
    return super.requireInternalModule(from, name);
  }

  requireModuleOrMock(from, name) {
    if (this.sharesModules && name !== '@jest/globals' && !this._resolution.isCoreModule(name)) {
      const path = this._resolution.resolveCjs(from, name);
      if (isShared(path)) return nativeRequire(path);
    }
    return super.requireModuleOrMock(from, name);
  }
};
