import { expect, it } from '@jest/globals';
import { checkOpenings, wrongOpenings } from '../../../scripts/check/check-openings.mjs';
import { folderWith } from '../folder.js';

it('names the file of a function whose comment begins with no verb', () => {
  const root = folderWith({
    'src/a.ts': '/** The queue. */\nexport function queue() {}\n',
    'lua/b.lua': '-- b(): ends.\nlocal key\n-- The end.\nlocal function b() end\n',
    'test/c.ts': '/** Returns the queue. */\nfunction queue() {}\n',
  });
  expect(checkOpenings(root).map((line) => line.slice(0, line.indexOf(':')))).toEqual(['src/a.ts', 'lua/b.lua']);
});

it.each([
  ['a declaration', '/** A queue. */\nfunction queue() {}'],
  ['an arrow function', '/** A queue. */\nconst queue = () => 1;'],
  ['a method', 'class A {\n  /** A queue. */\n  queue() {}\n}'],
  ['a method of an interface', 'interface A {\n  /** A queue. */\n  queue(): void;\n}'],
  ['an arrow function of a class', 'class A {\n  /** A queue. */\n  queue = () => 1;\n}'],
  ['a plural', '/** Jobs of the queue. */\nfunction jobs() {}'],
  ['a long comment', '/**\n * What it is.\n *\n * @param a a\n */\nfunction what(a) {}'],
])('finds %s', (_, source) => {
  expect(wrongOpenings('a.ts', source)).toHaveLength(1);
});

it.each([
  ['a field', 'class A {\n  /** The queue. */\n  queue = 1;\n}'],
  ['an accessor', 'class A {\n  /** The queue. */\n  get queue() {\n    return 1;\n  }\n}'],
  ['a constant', '/** The queue. */\nconst queue = 1;'],
  ['a hook', 'interface A {\n  /** Called when a job ends. */\n  ended(): void;\n}'],
  ['a comment of tags', '/** @throws {Error} always */\nfunction fail() {}'],
  ['a verb before a comma', '/** Releases, or fails. */\nfunction end() {}'],
])('accepts %s', (_, source) => {
  expect(wrongOpenings('a.ts', source)).toEqual([]);
});

it('takes the header of a Lua file for no comment of a function', () => {
  expect(
    wrongOpenings('a.lua', '-- The ends of a job.\n-- bury(id): ends it.\nlocal function bury(id) end\n'),
  ).toEqual([]);
  expect(wrongOpenings('a.lua', 'local a\n-- Needs: keys.\nlocal function b() end\n')).toEqual([]);
});
