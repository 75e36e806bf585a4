// The tables of docs/internals/architecture.md name every key, every script and every field of a job's hash, and no
// others.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { LAYERS, OTHERS } from '../../../scripts/check/check-imports.mjs';
import { BATCH_PARTS } from '#queue/model/batch.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { KEYS } from '#queue/validation/key-table.js';
import { GROUP_KEYS } from '#queue/validation/key-types.js';

const read = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
const text = read('docs/internals/architecture.md');
const marked = (line: string) => [...line.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

/** Returns the names in backquotes of the first column of a heading's table. */
function firstColumn(heading: string): string[] {
  const section = text.split(`\n## ${heading}\n`)[1]!.split(/\n##+ /)[0]!;
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => marked(row.split('|')[1]!));
}

const foldersOf = (path: string) =>
  readdirSync(new URL(`../../../${path}`, import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .toSorted();

it('every folder of the sources', () => {
  const block = text.split('## The parts')[1]!.split('```')[1]!;
  const named = [...block.matchAll(/^src\/([a-z]+)/gm)].map(([, folder]) => folder!);
  expect(named.toSorted()).toEqual(foldersOf('src'));
});

it('the picture of the parts has the imports that the check allows', () => {
  const picture = text.split('flowchart BT')[1]!.split('```')[0]!;
  const drawn = [...picture.matchAll(/^ {2}([a-z]+) --> ([a-z]+)$/gm)].map(([, from, to]) => `${from} ${to}`);
  const allowed = foldersOf('src').flatMap((from) => (LAYERS[from] ?? OTHERS).map((to) => `${from} ${to}`));
  expect(drawn.toSorted()).toEqual(allowed.toSorted());
});

it.each(['queue', 'worker', 'nest', 'dashboard'])('every room of src/%s', (folder) => {
  const section = text.split('## The parts')[1]!.split('\n## ')[0]!;
  const table = section
    .split(new RegExp('`src/' + folder + '`[ ,]'))[1]!
    .split('| room |')[1]!
    .split('\n\n')[0]!;
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) => marked(row.split('|')[1]!));
  expect(named.toSorted()).toEqual(foldersOf(`src/${folder}`));
});

it('every key of a queue', () => {
  const keys = new QueueKeys('jobs');
  const made = [
    ...Object.values(KEYS).map(([part]) => keys.base + part),
    keys.job('{id}'),
    keys.schedule('{id}'),
    keys.batch('{worker}:{stream}'),
  ]
    .concat(
      keys.batchRecord('{id}'),
      BATCH_PARTS.map((part) => keys.batchRecord('{id}', part)),
    )
    .concat(keys.nudge('{worker}'), `${keys.replacedPrefix}{request}`, `${keys.replacedPrefix}{id}`)
    .concat(`${keys.historyBatchPrefix}{worker}`, keys.once('{source}'), keys.stream('{id}'))
    .flat()
    .filter((key: string) => key.startsWith('queue:jobs:') && !key.endsWith(':'))
    .map((key: string) => key.slice('queue:jobs:'.length));
  expect(firstColumn('The keys').toSorted()).toEqual([...new Set(made)].toSorted());
});

/** Returns the ends of the keys in a table: the part before an id, and the word of its row. */
function endsIn(page: string): Record<string, string> {
  const rows = page.split('| key | type | ends | content |')[1]!.split('\n\n')[0]!.split('\n').slice(2);
  return Object.fromEntries(
    rows.flatMap((row) => {
      const [, keys, , ends] = row.split('|');
      return marked(keys!).map((key) => [key.replace(/\{.*$/, ''), ends!.trim()]);
    }),
  );
}

it('the end of every key', () => {
  const parts = Object.values(KEYS).filter(([part]) => part !== 'groups:');
  expect(endsIn(text)).toEqual(Object.fromEntries(parts.map(([part, , end]) => [part, end])));
  const ofGroups = Object.entries(GROUP_KEYS).map(([part, [, end]]) => [part, end]);
  expect(endsIn(read('docs/internals/groups.md'))).toEqual(Object.fromEntries(ofGroups));
});

it('every script', () => {
  const scripts = readdirSync(new URL('../../../lua', import.meta.url), { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.lua') && !file.startsWith('lib/'))
    .map((file) => file.slice(0, -'.lua'.length));
  const named = firstColumn('The scripts');
  // `schedule-…` means all that begin so.
  const families = named.filter((name) => name.endsWith('…')).map((name) => name.slice(0, -1));
  const isNamed = (script: string) =>
    named.includes(script) || families.some((family) => script.startsWith(family));
  expect(scripts.filter((script) => !isNamed(script))).toEqual([]);
  expect(named.filter((name) => !name.endsWith('…') && !scripts.includes(name))).toEqual([]);
});

it('every field of a hash that an operator can read', () => {
  const section = text.split('### The hash of a job')[1]!.split('\n## ')[0]!;
  const fields = [...read('src/queue/replies/decode-job.ts').matchAll(/\bhash\.([a-z_]+)/g)].map(
    ([, field]) => field!,
  );
  expect(fields.length).toBeGreaterThan(20);
  expect(fields.filter((field) => !marked(section).includes(field))).toEqual([]);
});

it('the cost of an idle worker, by the bounds that a test holds', () => {
  const spec = read('test/worker/fetch/idle-cost.spec.ts');
  const rows = [...text.matchAll(/^\| (\d+) \| ([\d.]+) \| (\d+) \|$/gm)];
  expect(rows).toHaveLength(3);
  for (const [, queues, seen, bound] of rows) {
    expect(Number(seen)).toBeLessThan(Number(bound));
    expect(spec).toContain(`[${queues}, {}, ${bound}]`);
  }
});
