// Each claim of docs/proof.md names a spec or a command that exists. It says when it runs, and when it has passed last.
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { lastPassed, readDates } from '../../../scripts/release/last-runs.mjs';
import { rowsOf } from '../table.js';

const root = new URL('../../../', import.meta.url);
const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  scripts: Record<string, string>;
};
const dates = readDates();
const rows = ['invariants', 'faults', 'claims'].flatMap((mark) =>
  rowsOf(mark, 'docs/proof.md')
    .slice(2)
    .map((cells) => [cells.at(-4)!, cells.at(-3)!, cells.at(-2)!, cells.at(-1)!] as const),
);

it('the page of proof has claims', () => expect(rows.length).toBeGreaterThan(40));

it.each(rows)('%s', (_claim, shown, runs, date) => {
  const specs = [...shown.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path]) => path!);
  const commands = [...shown.matchAll(/`npm run ([\w:-]+)`/g)].map(([, name]) => name!);
  expect(specs.length + commands.length).toBeGreaterThan(0);
  expect(specs.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  expect(commands.filter((name) => !(name in scripts))).toEqual([]);
  const isLong = commands.length > 0 || specs.some((path) => path.startsWith('test/long/'));
  const isShort = specs.some((path) => !path.startsWith('test/long/'));
  expect(runs).toBe([isShort && 'each change', isLong && 'long'].filter(Boolean).join(', '));
  expect(date).toBe(lastPassed(shown, dates));
});
