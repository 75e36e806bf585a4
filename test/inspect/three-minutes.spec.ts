// No verdict turns into another one's while its cause stays: each rule is asked at once, and three minutes later.
import { expect, it } from '@jest/globals';
import { findingOf, holdingBack, RULES, verdictOf } from '#inspect/verdict.js';
import { CASES, LATER, signsAt } from './rule-cases.js';

/** Returns words without their figures. */
function shapeOf(words: string | undefined): string | undefined {
  return words?.replaceAll(/\d[\d,.]*(?: (?:ms|s|min|h|days?))?/g, 'N');
}

it.each(RULES.map((rule) => [rule.name, rule] as const))('%s keeps its verdict', (name, rule) => {
  for (const each of CASES[name] ?? []) {
    const [first, later] = [signsAt(0, each), signsAt(LATER, each)];
    const found = verdictOf(first);
    expect([name, findingOf(first)]).toEqual([name, { queue: 'email', ...rule(first) }]);
    expect(verdictOf(later)).toMatchObject({ state: found.state });
    expect(shapeOf(verdictOf(later).cause)).toBe(shapeOf(found.cause));
    expect(shapeOf(holdingBack(later)?.cause)).toBe(shapeOf(holdingBack(first)?.cause));
  }
  expect([name, CASES[name]?.length ?? 0]).not.toEqual([name, 0]);
});

it('no verdict is worse only because three minutes pass over work that flows', () => {
  const [flowing] = CASES['flowing']!;
  expect(verdictOf(signsAt(LATER, flowing!))).toMatchObject({ severity: 'ok' });
});
