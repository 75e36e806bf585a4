// How many cases a test takes. `npm test` takes a part where all of them take seconds, and `npm run test:whole` takes all.
// That command runs the specs that import this file.
const isWhole = process.env.TEST_SUITE === 'whole';

/** Returns a number of cases to draw. */
export function casesOf(whole: number, part: number): number {
  return isWhole ? whole : part;
}

/** Returns some cases of a list: the first, and each nth after it. */
export function someOf<Case>(cases: readonly Case[], nth: number): Case[] {
  return cases.filter((_, i) => isWhole || i % nth === 0);
}
