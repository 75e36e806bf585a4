// Reads which scripts each test file calls, as `npm run mutate -- --record` noted it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface SpecRecord {
  /** The path of the test file. */
  readonly file: string;
  readonly seconds: number;
  /** The names of the scripts that it called. */
  readonly scripts: readonly string[];
}

/** Reads the records of a folder. @throws Error if there are none */
export function readRecords(folder: string): SpecRecord[] {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  if (files.length === 0) throw new Error(`No records in ${folder}: run npm run mutate -- --record first.`);
  return files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as SpecRecord);
}

/**
 * Returns the test files of a mutant in their order. The first ones noticed several mutants of its file, or have its name or
 * that of a changed script. Then come the files of its folder, and then the fastest.
 */
export function suitesOf(
  records: readonly Pick<SpecRecord, 'file' | 'seconds'>[],
  file: string,
  scripts: ReadonlySet<string>,
  noticed: ReadonlyMap<string, number>,
): string[] {
  const [folder, name] = file.split('/').slice(-2) as [string, string];
  const spec = `${name.split('.')[0]!.replaceAll('_', '-')}.spec.ts`;
  const nearness = (record: Pick<SpecRecord, 'file'>) =>
    (record.file.endsWith(`/${spec}`) ? 2 : 0) +
    (scripts.has(scriptOf(record.file)) ? 2 : 0) +
    (record.file.includes(`/${folder}/`) ? 1 : 0) +
    Math.min(3, noticed.get(record.file) ?? 0);
  const sorted = records.toSorted((one, other) => nearness(other) - nearness(one) || one.seconds - other.seconds);
  return sorted.map((record) => record.file);
}

/** Returns the name of the script that a test file of `test/lua` is about. */
function scriptOf(file: string): string {
  const path = file.replace(/^test\/lua\/|\.spec\.ts$/g, '');
  return path.replace(/[-/]+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
