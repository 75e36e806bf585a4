// Public symbols have docstrings, and editors show them whole. A planted fault of each kind is found.
import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { strangeTags, undocumented } from '../../../scripts/check/check-docstrings.mjs';

const problems = (docstring: string) =>
  strangeTags(
    ts.createSourceFile('a.ts', `/** ${docstring} */\nexport function a() {}`, ts.ScriptTarget.ES2022, true),
  );

it('finds text that an editor takes for a tag', () => {
  expect(problems('Of @nestjs/terminus.')).toEqual(['a.ts:1: an editor takes @nestjs for a tag; write \\@nestjs.']);
  expect(problems('Runs.\n * @example\n * @JobHandler("email")')).toHaveLength(1);
  expect(problems('Runs `@nestjs/terminus`, \\@nestjs/schedule. @throws Error @default 5 ms')).toEqual([]);
});

it('finds a symbol and a member without a docstring', () => {
  const report = [
    '// @public (undocumented)',
    'export type Status = string;',
    '',
    '// @public',
    'export interface Job<Payload = unknown> {',
    '    // (undocumented)',
    '    id: string;',
    '    name: string;',
    '}',
  ].join('\n');
  expect(undocumented(report)).toEqual([
    'export type Status = string has no docstring.',
    'export interface Job: id: string has no docstring.',
  ]);
});
