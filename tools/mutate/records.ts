// Reads what each test file executes, as `npm run mutate -- --record` noted it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface SpecRecord {
  /** The path of the test file. */
  readonly file: string;
  readonly seconds: number;
  /** The names of the scripts that it called. */
  readonly scripts: readonly string[];
  /** The paths of the sources of which it ran a function. */
  readonly sources: readonly string[];
}

/** Reads the records of a folder. @throws Error if there are none */
export function readRecords(folder: string): SpecRecord[] {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  if (files.length === 0) throw new Error(`No records in ${folder}: run npm run mutate -- --record first.`);
  return files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as SpecRecord);
}

/**
 * Returns the test files of a mutant: at least one, and together at most `most` seconds by their records. The first ones
 * noticed several mutants of its file, or have its name or that of a changed script. Then come the files of its folder,
 * and then the fastest.
 */
export function suitesOf(
  records: readonly SpecRecord[],
  file: string,
  scripts: ReadonlySet<string>,
  noticed: ReadonlyMap<string, number>,
  most: number,
): string[] {
  const [folder, name] = file.split('/').slice(-2) as [string, string];
  const spec = `${name.split('.')[0]!.replaceAll('_', '-')}.spec.ts`;
  const nearness = (record: SpecRecord) =>
    (record.file.endsWith(`/${spec}`) ? 2 : 0) +
    (scripts.has(scriptOf(record.file)) ? 2 : 0) +
    (record.file.includes(`/${folder}/`) ? 1 : 0) +
    Math.min(3, noticed.get(record.file) ?? 0);
  const sorted = records.toSorted((one, other) => nearness(other) - nearness(one) || one.seconds - other.seconds);
  let sum = 0;
  return sorted.filter(({ seconds }, i) => (sum += seconds) <= most || i === 0).map((record) => record.file);
}

/** Returns the name of the script that a test file of `test/lua` is about. */
function scriptOf(file: string): string {
  const path = file.replace(/^test\/lua\/|\.spec\.ts$/g, '');
  return path.replace(/[-/]+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
