// The mutants of a TypeScript source, by the mutators of StrykerJS. Only its instrumenter is used: mutants of both
// languages run in the same way.

/** Of these a test need not know: texts of logs and errors, and conditions that only pick one of them. */
const EXCLUDED = ['StringLiteral', 'Regex'];

const silent = () => undefined;
const logger = new Proxy({}, { get: () => silent });

/** Returns the changes of a source that StrykerJS makes. */
export async function typescriptEdits(file, text) {
  // Loaded only here: Lua needs none of it.
  const [{ createInstrumenter }, { createInjector }] = await Promise.all([
    import('@stryker-mutator/instrumenter'),
    import('typed-inject'),
  ]);
  const injector = createInjector()
    .provideValue('logger', logger)
    .provideValue('getLogger', () => logger);
  const options = { plugins: [], excludedMutations: EXCLUDED, ignorers: [] };
  const { mutants } = await injector
    .injectFunction(createInstrumenter)
    .instrument([{ name: file, content: text, mutate: true }], options);
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offsetOf = ({ line, column }) => starts[line] + column;
  const kept = mutants.filter(({ status }) => status !== 'Ignored');
  return kept.map(({ mutatorName, replacement, location }) => ({
    operator: mutatorName,
    from: offsetOf(location.start),
    to: offsetOf(location.end),
    after: replacement,
  }));
}
