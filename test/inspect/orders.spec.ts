// A list that a reader puts in order does not depend on the order of its parts. Those come from several queues, or from a
// hash of Redis. Each row takes its parts in every order.
import { expect, it } from '@jest/globals';
import { openWaits } from '#inspect/job-words.js';
import { joinSigns } from '#inspect/join-shards.js';
import { topFunctions } from '#cli/commands/profile-command.js';
import { placesOf } from '#inspect/walk-jobs.js';
import { causesOf, deployBefore, type KindOfQueue } from '#inspect/shared-errors.js';
import { sharedLimitInWords } from '#inspect/limit-rules.js';
import { TextRedaction } from '#queue/codec/redact.js';
import type { JobWait } from '#queue/model/signal.js';
import { announcedCosts, type SharedLimitState } from '#queue/model/shared-limit.js';
import { Topics } from '#queue/operate/topics.js';
import { decodeOutcome, decodeStats } from '#queue/verbs/queue.js';
import { Histogram, valueOf } from '#queue/runtime/histogram.js';
import { nearest } from '#queue/validation/suggest.js';
import { FleetTurns } from '#worker/fetch/fleet-turns.js';
import { Permits } from '#worker/runner/permits.js';
import { NO_STATS } from '../support/queue/no-stats.js';

const at = (ms: number) => new Date(1_800_000_000_000 + ms);
const frame = (functionName: string) => ({ functionName, url: 'file:///a.js', lineNumber: 1 });

/** A row: the parts, what the reader makes of them in any order, and what that is. */
interface Row<Part> {
  parts: readonly Part[];
  of(parts: readonly Part[]): unknown;
  is: unknown;
}

function row<Part>(parts: readonly Part[], of: Row<Part>['of'], is: unknown): Row<never> {
  return { parts, of, is } as unknown as Row<never>;
}

const kind = (queue: string, kindName: string, count: number, more: Partial<KindOfQueue> = {}): KindOfQueue => ({
  queue,
  kind: kindName,
  count,
  lastHour: 1,
  firstAt: at(0),
  lastAt: at(5),
  ...more,
});
const limit = (holders: SharedLimitState['holders']): SharedLimitState => ({
  name: 'openai',
  source: 'configuration',
  maxRunning: 9,
  rateLimit: [],
  running: 6,
  holders,
  waiting: [],
  queues: [],
});

const ROWS: Record<string, Row<never>> = {
  'the limits of which a worker leases permits': row(
    ['b', 'c', 'a'],
    (limits) => new Permits({ limits: limits.map((each) => ({ limit: each, cost: 1 })) } as never, () => undefined).costs.map((each) => each.limit), // prettier-ignore
    ['a', 'b', 'c'],
  ),
  'the later of two ends of a job': row(
    ['completed 5 1 a', 'failed 9 2 a', 'cancelled 7 1 a'],
    (lines) => decodeOutcome('q', 'id', lines)?.status,
    'failed',
  ),
  'the unserved names of a queue, the longest wait first, then by name': row(
    [2, 9, 2].map((waiting, i) => ({ name: 'cab'[i]!, waiting_ms: waiting })),
    (names) =>
      decodeStats([['now_ms', '1'], ['pending', '3'], ['unserved', JSON.stringify(names)]]).unserved.map((each) => each.name), // prettier-ignore
    ['a', 'b', 'c'],
  ),
  'the unserved names of shards, the longest wait of each': row(
    [['x', 5], ['y', 9], ['x', 7]] as const, // prettier-ignore
    (all) =>
      joinSigns('q', all.map(([name, waitingMs]) => ({ queue: 'q', stats: NO_STATS, unserved: [{ name, waitingMs }] }))).unserved, // prettier-ignore
    [
      { name: 'y', waitingMs: 9 },
      { name: 'x', waitingMs: 7 },
    ],
  ),
  'hidden texts, the longest first': row(
    ['key', 'key-of-ada', 'key-of'],
    (texts) => new TextRedaction().knowAll(texts).text('sent key-of-ada to key-of'),
    'sent [redacted] to [redacted]',
  ),
  'the largest cost that workers announce': row(
    [3, 8, 5],
    (costs) => announcedCosts(costs.map((cost) => ({ limitCosts: { openai: cost } }))),
    { openai: 8 },
  ),
  'the times of a histogram': row(
    [30, 10, 20],
    (buckets) => {
      const times = new Histogram();
      buckets.forEach((bucket) => times.add(bucket));
      return [0.1, 0.5, 1].map((share) => times.quantile(share));
    },
    [10, 20, 30].map(valueOf),
  ),
  'the nearest of the known names': row(
    ['maxRetries', 'maxRunning', 'minRunning'],
    (known) => nearest('maxRuning', known),
    'maxRunning',
  ),
  'open waits, the oldest first': row(
    [3, 1, 2].map((ms): JobWait => ({ name: `w${ms}`, kind: 'signal', state: 'open', since: at(ms) })),
    (waits) => openWaits({ status: 'scheduled', waits: [...waits], attemptLog: [{ outcome: 'wait' }] as never }).map(({ name }) => name), // prettier-ignore
    ['w1', 'w2', 'w3'],
  ),
  'the queues of a search': row(
    ['b', 'c', 'a'],
    (queues) => [...new Set(placesOf(queues, { mayMatch: () => true }, null).map(({ queue }) => queue))],
    ['a', 'b', 'c'],
  ),
  'causes of errors: the most deaths of the hour, then all, then the last one': row(
    [
      kind('q', '@b', 2),
      kind('q', '@a', 9),
      kind('q', '@c', 2, { lastAt: at(4) }),
      kind('q', '@d', 1, { lastHour: 5 }),
    ],
    (kinds) => causesOf(kinds).map(({ count, lastAt }) => [count, lastAt.getTime() - at(0).getTime()]),
    [[1, 5], [9, 5], [2, 5], [2, 4]], // prettier-ignore
  ),
  'the queues of a cause, the most deaths first': row(
    [kind('b', 'f0', 5), kind('a', 'f0', 9), kind('c', 'f0', 1)],
    (kinds) => causesOf(kinds)[0]!.queues,
    ['a', 'b', 'c'],
  ),
  'the last deploy before an error': row(
    [-30, -10, -20].map((ms) => ({ kind: 'deploy' as const, version: `v${ms}`, at: at(ms) })),
    (marks) => deployBefore(at(0), marks)?.version,
    'v-10',
  ),
  'the holders of a limit, the most permits first': row(
    [
      { queue: 'chat', worker: 'a', permits: 2 },
      { queue: 'mail', worker: 'a', permits: 3 },
      { queue: 'sums', worker: 'b', permits: 1 },
    ],
    (holders) => /\((.*?)\)/.exec(sharedLimitInWords(limit([...holders]), at(0)))?.[1],
    'mail 3, chat 2, sums 1',
  ),
  'the functions of a profile, the largest share first': row(
    [['b', 30], ['a', 60], ['c', 10]] as const, // prettier-ignore
    (leaves) => {
      const children = leaves.map(([name, selfSize]) => ({ callFrame: frame(name), selfSize, children: [] }));
      const head = { callFrame: frame('(root)'), selfSize: 0, children };
      return topFunctions('q', 'heap', JSON.stringify({ head })).map(({ name }) => name);
    },
    ['a', 'b', 'c'],
  ),
  'the queues by which a fleet is known': row(
    ['mail', 'chat', 'sums'],
    (names) => {
      const runners = names.map((name) => ({ name, limits: { all: [{ name: `of-${name}` }] } }));
      const turns = new FleetTurns({ worker: 'w', store: {}, runners, capacity: () => 1 } as never);
      return [turns.keeper.name, turns.fleet];
    },
    ['chat', expect.stringMatching(/^[\da-f]{16}$/)],
  ),
};

function permutations<Part>(parts: readonly Part[]): Part[][] {
  if (parts.length < 2) return [[...parts]];
  return parts.flatMap((part, i) => permutations(parts.toSpliced(i, 1)).map((rest) => [part, ...rest]));
}

it.each(Object.entries(ROWS))('%s', (_, { parts, of, is }) => {
  const all = permutations(parts).map((each) => of(each));
  expect(all[0]).toEqual(is);
  for (const each of all) expect(each).toEqual(all[0]);
});

it('the subscriptions of topics come by their topics and names', async () => {
  const parts = ['b', 'c', 'a'].map((name) => ({ topic: 'paid', name, queue: 'q', since: at(0) }));
  for (const found of permutations(parts)) {
    const topics = new Topics(() => ({ exec: async () => found }) as never);
    expect((await topics.of()).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  }
});
