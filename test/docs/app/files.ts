// A folder for examples that are files of an app, removed after the test file.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';

const cache = fileURLToPath(new URL('../../../.cache', import.meta.url));
const folders: string[] = [];

afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Writes the files into a folder inside of the project, where its packages are found. */
export function writeExample(files: Record<string, string>): string {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'example-'));
  folders.push(folder);
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), code);
  return folder;
}
