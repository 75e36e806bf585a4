// Compiles each module once per process instead of once per test file. Jest gives every file a realm of its own and
// compiles its 300 to 1,100 modules anew in it. From the second file on, V8 reads what it kept of the first time.
import vm from 'node:vm';

const { SourceTextModule, SyntheticModule, compileFunction } = vm;

/** The context of code that runs in the realm of the process itself, which Node cannot name. */
export const SHARED_REALM = vm.createContext();

/** The source of a file and its code from V8, by file name. */
const modules = new Map();
const functions = new Map();

/** Returns the code that V8 made of this source before, if any. */
function codeOf(cache, name, source) {
  const kept = cache.get(name);
  return kept?.source === source ? kept.cachedData : undefined;
}

/** Keeps the code of a source. An `import()` is an exception: in kept code Node 20 finds no importer for it. */
function keep(cache, name, source, cachedData) {
  if (!source.includes('import(')) cache.set(name, { source, cachedData });
}

/** Leaves the context out, for code of the realm of the process. */
function inRealm({ context, ...options }) {
  return context === SHARED_REALM ? options : { ...options, context };
}

class RealmModule extends SyntheticModule {
  constructor(names, evaluate, options = {}) {
    super(names, evaluate, inRealm(options));
  }
}

class CachedModule extends SourceTextModule {
  constructor(source, given) {
    const options = inRealm(given);
    const { identifier } = options;
    let cachedData = codeOf(modules, identifier, source);
    try {
      super(source, { ...options, cachedData });
    } catch (error) {
      // V8 refuses all earlier code after a test has changed V8's flags.
      if (error.code !== 'ERR_VM_MODULE_CACHED_DATA_REJECTED') throw error;
      cachedData = undefined;
      super(source, options);
    }
    // Node allows this before the module is evaluated only.
    if (!cachedData) keep(modules, identifier, source, this.createCachedData());
  }
}

function compileCached(source, parameters, { parsingContext, ...given }) {
  const options = parsingContext === SHARED_REALM ? given : { ...given, parsingContext };
  const { filename } = options;
  const cachedData = codeOf(functions, filename, source);
  const compiled = compileFunction(source, parameters, { ...options, cachedData, produceCachedData: !cachedData });
  if (!cachedData) keep(functions, filename, source, compiled.cachedData);
  else if (compiled.cachedDataRejected) functions.delete(filename);
  return compiled;
}

/** Lets Jest's runtime compile so: it looks both up in `node:vm` at each use. */
export function keepCompiledCode() {
  vm.SourceTextModule = CachedModule;
  vm.SyntheticModule = RealmModule;
  vm.compileFunction = compileCached;
}
