// Examples of the docs, loaded as written.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders: string[] = [];

afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Returns the first block of code after `<!-- example: {mark} -->` in a file of docs/. */
export function exampleOf(doc: string, mark: string): string {
  const text = readFileSync(join(root, 'docs', doc), 'utf8');
  const code = text.split(`<!-- example: ${mark} -->`)[1]?.match(/```ts\n([^]*?)```/)?.[1];
  if (code === undefined) throw new Error(`docs/${doc} has no example "${mark}"`);
  return code;
}

/** Returns the exports of an example. @param change of its text, for a package that is not installed here */
export async function loadExample<Exports = Record<string, unknown>>(
  doc: string,
  mark: string,
  change = (code: string) => code,
): Promise<Exports> {
  mkdirSync(join(root, '.cache'), { recursive: true });
  // Inside of the project, where its packages are found.
  const folder = mkdtempSync(join(root, '.cache', 'example-'));
  folders.push(folder);
  const file = join(folder, 'example.ts');
  writeFileSync(file, change(exampleOf(doc, mark)));
  return (await import(file)) as Exports;
}
