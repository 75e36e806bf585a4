// The supports of the tests clean up in jest's afterAll. Outside of jest whoever starts something ends it. They also ask jest for
// the path of the test file, and there is none.
const stub =
  'data:text/javascript,export const afterAll = () => undefined; export const expect = { getState: () => ({}) };';

export function resolve(name, context, next) {
  return name === '@jest/globals' ? { url: stub, shortCircuit: true } : next(name, context);
}
