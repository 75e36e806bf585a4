// A text is cut between characters. A cut by length alone may divide an emoji, which has two UTF-16 units.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { describeError, serializeError } from '#queue/errors/stored-error.js';
import { oneLine, show } from '#queue/errors/show.js';
import { cut, endOf, startOf, wellFormed } from '#queue/runtime/cut.js';

const HALF = /\p{Surrogate}/u;
const texts = fc.string({ unit: 'binary', maxLength: 40 });

describe('a cut', () => {
  it('has no half of a character, and leaves out no whole one that fits', () => {
    fc.assert(
      fc.property(texts, fc.nat(45), (text, longest) => {
        const [start, end] = [startOf(text, longest), endOf(text, longest)];
        expect(text.startsWith(start) && text.endsWith(end)).toBe(true);
        for (const part of [start, end]) {
          expect(part).not.toMatch(HALF);
          expect(part.length).toBeLessThanOrEqual(longest);
          expect(part.length).toBeGreaterThanOrEqual(Math.min(text.length, longest - 1));
        }
      }),
    );
  });

  it('is marked where something was left out', () => {
    expect(cut('ab', 2)).toBe('ab');
    expect(cut('a😀', 2)).toBe('a…');
  });

  it('keeps a text that has halves of its own, until they are replaced', () => {
    expect(startOf('\ud800ab', 2)).toBe('\ud800a');
    expect(wellFormed('\ud800a😀')).toBe('\ufffda😀');
  });
});

it.each([0, 1])('an error, a line and a shown value keep whole emoji, %i units off', (shift) => {
  const text = 'x'.repeat(shift) + '😀'.repeat(10_000);
  for (const shown of [serializeError(new Error(text)).message, describeError(new Error(text)), show(text)]) {
    expect(shown).not.toMatch(/\p{Surrogate}|\ufffd|\\ud/u);
  }
  expect(oneLine(text, 101)).not.toMatch(/\\ud/);
});
