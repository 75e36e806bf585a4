import { expect, it } from '@jest/globals';
import { codeLines } from '../../scripts/count-lines.mjs';

it('counts lines of code, and neither comments nor empty lines', () => {
  const script = [
    '// a comment',
    '/** A docstring. */',
    'export const text = `one',
    '',
    'three`; // behind code',
    '',
    'function f() {',
    '  /* alone */',
    '}',
  ];
  expect(codeLines('a.ts', script.join('\n'))).toBe(5);
  expect(codeLines('a.lua', '-- a comment\n--[[ two\nlines ]]\n--@include lib/a\nlocal a = 1 -- code\n')).toBe(2);
});
