// The names in the docs are those of the API: each call of the service, and each name beside BullMQ's.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { startTested } from '../../testing/module/app.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

/** Returns the chains of names behind `jobs.` in a page, such as `queue(email).limits.set()`. */
function chainsOf(text: string): string[] {
  return [...text.matchAll(/\bjobs((?:\.[a-zA-Z]+(?:\([^()]*\))?)+)/g)].map(([, chain]) => chain!.slice(1));
}

/** Walks a chain from the service on. Returns the first name that is not there. */
function missingIn(service: object, chain: string): string | undefined {
  let place = service as Record<string, unknown>;
  for (const [, name, call] of chain.matchAll(/([a-zA-Z]+)(\([^()]*\))?/g)) {
    const member = place[name!];
    if (member === undefined) return name;
    if (name !== 'queue' && typeof member === 'function') return undefined;
    place = (call ? (member as (queue: string) => unknown).call(place, 'email') : member) as typeof place;
  }
  return undefined;
}

it('each call of the service in the docs is one that it has', async () => {
  const { jobs } = await startTested({});
  const pages = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
  const chains = ['README.md', ...pages.map((page) => `docs/${page}`)].flatMap((file) =>
    chainsOf(textOf(file)).map((chain) => ({ file, chain })),
  );
  const others = new Set(['md', 'spec', 'map', 'example', 'check']); // a page, a test, an array, an address and an indicator
  const missing = chains.flatMap(({ file, chain }) => {
    const name = missingIn(jobs, chain);
    return name === undefined || others.has(name) ? [] : [`${file}: jobs.${chain}`];
  });
  expect(chains.length).toBeGreaterThan(80);
  expect(missing).toEqual([]);
});

/** Variables, values and other words of the examples. */
const WORDS = [
  'fn',
  'Ms',
  'transcode',
  'audio',
  'stalled',
  'await',
  'throw',
  'line',
  'step',
  'tracing',
  'maxStalledCount',
  'removeOnComplete',
];

it('each name beside that of BullMQ or Bull is one of the API', () => {
  const api = readdirSync(join(root, 'api')).map((file) => textOf(join('api', file)));
  const known = new Set(api.flatMap((text) => text.match(/\w+/g) ?? []));
  const rows = textOf('docs/from-bullmq.md').match(/^\|.*\|$/gm)!;
  const here = rows.map((row) => row.split('|').at(-2)!).flatMap((cell) => cell.match(/`[^`]+`/g) ?? []);
  const names = here.filter((code) => !code.startsWith('`--')).flatMap((code) => code.match(/[A-Za-z]\w*/g) ?? []);
  expect(names.length).toBeGreaterThan(150);
  expect([...new Set(names)].filter((name) => !known.has(name) && !WORDS.includes(name))).toEqual([]);
});
