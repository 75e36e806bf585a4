// The table of docs/errors.md holds every error of the sources, with its code.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { BatchSealedError, JobQueueError, JobTimeoutError, NonRetryableError } from '#queue/errors/errors.js';
import { STATUSES } from '#nest/job-queue-error.filter.js';
import { rowsOf } from '../table.js';

const sources = join(import.meta.dirname, '../../../src');
const files = readdirSync(sources, { recursive: true }).map(String);
const text = files
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'))
  .map((file) => readFileSync(join(sources, file), 'utf8'))
  .join('\n');
const classes = [
  ...text.matchAll(
    /class (\w+Error) extends \w+Error \{\n(?: {2}\/\*\*[^\n]*\n)?( {2}static override readonly code: string = '(\w+)';)?/g,
  ),
];
const table = rowsOf('errors', 'docs/errors.md').slice(2);

it('each error has a code of its own', () => {
  expect(classes.length).toBeGreaterThan(25);
  expect(classes.filter(([, , , code]) => code === undefined).map(([, name]) => name)).toEqual([]);
  expect(new Set(classes.map(([, , , code]) => code)).size).toBe(classes.length);
});

it('the table names each error with its code and its anchor, and no other', () => {
  const said = table.map(([code, name]) => `${name} ${code}`);
  const expected = classes.map(([, name, , code]) => row(name!, code!));
  expect(said.toSorted()).toEqual([...expected, row('JobQueueError', JobQueueError.code)].toSorted());
});

it('an error has its code and the address of its row, also a subclass', () => {
  expect(new JobTimeoutError('1', 5)).toMatchObject({ code: 'JOB_TIMEOUT' });
  expect(new JobTimeoutError('1', 5).docs).toMatch(/\/docs\/errors\.md#job-timeout$/);
  expect(new BatchSealedError('1').code).toBe('BATCH_SEALED');
  class Refused extends NonRetryableError {}
  expect(new Refused('no').code).toBe('NON_RETRYABLE');
  class Own extends NonRetryableError {
    override readonly code = 'OWN';
  }
  expect(new Own('no').code).toBe('OWN');
});

function row(name: string, code: string): string {
  return `\`${name}\` <a id="${code.toLowerCase().replaceAll('_', '-')}"></a>\`${code}\``;
}

it('the statuses are those of the filter', () => {
  const page = readFileSync(join(sources, '../docs/errors.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (\d{3})\b[^|]*\| ([^|]*`) \|$/gm)];
  const told = rows.flatMap(([, status, codes]) =>
    [...codes!.matchAll(/`(\w+)`/g)].map(([, code]) => [code!, Number(status)] as const),
  );
  expect(new Map(told)).toEqual(STATUSES);
});
