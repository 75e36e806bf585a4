// What readers of a stream get if messages, replies and connections are lost.
import { describe, expect, it } from '@jest/globals';
import { ScriptStore } from '#memory/script-store.js';
import type { StreamEntry, StreamItem } from '#queue/model/job-stream.js';
import { StreamReaders, StreamPosition } from '#queue/results/stream-reader.js';
import { coreQueue, openedQueue, sameQueue } from '../../support/queue/core-queue.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { connect } from '../../support/redis/redis.js';
import type { Job } from '#worker/handlers/job.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const MANY = Array.from({ length: 60 }, (_, i) => i);

async function chunksOf(items: AsyncIterable<StreamItem>, found: unknown[] = []): Promise<unknown[]> {
  for await (const item of items) found.push(item.type === 'chunk' ? item.data : item.type);
  return found;
}

/** Connects to the shared server over a proxy. */
async function behindProxy() {
  const proxy = await FaultProxy.start();
  const client = connect({ retryStrategy: () => 20 }, proxy.url);
  client.on('error', () => undefined);
  return { proxy, client };
}

const entry = (number: number, at: number, kind = 'j'): StreamEntry => ({
  id: `${number}-${at}`,
  attempt: 1,
  kind,
  value: number,
});
const page = (...entries: StreamEntry[]) => ({
  status: 'processing',
  last: entries.at(-1)?.id ?? '',
  more: false,
  end: entries.at(-1)?.id ?? '',
  entries,
});

describe('a reader', () => {
  it('gets each chunk once over cut connections', async () => {
    const { proxy, client } = await behindProxy();
    const queue = newQueue();
    const next: (() => void)[] = [];
    await startWorker(queue, async function* () {
      for (const i of MANY) {
        yield i;
        if (i % 10 === 9) await new Promise<void>((resolve) => next.push(resolve));
      }
    });
    const { id } = await queue.enqueue({});
    const reading = chunksOf(sameQueue(queue, {}, client).stream(id));
    for (let i = 0; i < 6; i++) {
      await eventually(() => next.length > 0);
      proxy.cut();
      next.shift()!();
    }
    expect(await reading).toEqual([...MANY, 'result']);
  });

  it('gets each chunk once if the reply to a write was lost', async () => {
    const { proxy, client } = await behindProxy();
    const queue = newQueue();
    const lost = gate();
    await startWorker(newQueue({}, client, queue.name), async function* () {
      yield 'a';
      void proxy.loseReplyTo('"lost"').then(() => lost.open());
      yield 'lost';
      await lost.promise;
      yield 'b';
    });
    const { id } = await queue.enqueue({});
    expect(await chunksOf(queue.stream(id))).toEqual(['a', 'lost', 'b', 'result']);
  });

  it('gets each chunk once, of one attempt, if connections are cut in the middle of writes', async () => {
    const { proxy, client } = await behindProxy();
    const queue = newQueue();
    const chunks = Array.from({ length: 6 }, (_, round) =>
      Array.from({ length: 8 }, (_each, i) => `${round}:${i} ${'x'.repeat(20_000)}`),
    );
    await startWorker(newQueue({}, client, queue.name), async (job: Job) => {
      for (const [round, some] of chunks.entries()) {
        const isReplyLost = round % 2 === 1;
        const lost = isReplyLost ? proxy.loseReplyTo(`"${round}:7`) : undefined;
        if (!isReplyLost) proxy.limitBandwidth(1_000_000);
        const written = Promise.all(some.map((chunk) => job.stream.write(chunk)));
        if (!isReplyLost) {
          await eventually(() => proxy.passed.up > 40_000); // of 160,000
          proxy.cut();
          proxy.limitBandwidth();
        }
        await lost;
        await written;
      }
    });
    const { id } = await queue.enqueue({});
    const items = await chunksOf(queue.stream(id));
    expect(items.map(String)).toEqual([...chunks.flat(), 'result']);
    expect((await queue.get(id))?.attempts).toBe(1);
  });

  it('learns that chunks are missing if another program has replaced the stream', async () => {
    const { queue, state } = coreQueue();
    const { id } = await queue.enqueue({});
    const claim = (await queue.claim())!;
    const chunks = [{ kind: 'j' as const, json: '1' as never }];
    await state.run(state.scripts.streams.write({ writes: [{ claim, first: 1, chunks }] }));
    await state.redis.set(state.keys.stream(id), 'forged');
    await queue.complete(claim, 'done');
    expect(await chunksOf(queue.stream(id))).toEqual(['truncated', 'result']);
  });

  it('that is slow gets each chunk, and holds up neither the job nor others', async () => {
    const queue = newQueue();
    const text = 'x'.repeat(20_000);
    const chunks = Array.from({ length: 40 }, (_, i) => `${i} ${text}`);
    const go = gate();
    await startWorker(queue, async function* () {
      yield 'first';
      await go.promise;
      yield* chunks;
    });
    const { id } = await queue.enqueue({});
    const slow = queue.stream(id)[Symbol.asyncIterator]();
    await slow.next();
    go.open();
    const fast = await chunksOf(queue.stream(id));
    const rest = await chunksOf({ [Symbol.asyncIterator]: () => slow });
    expect([fast.length, fast.slice(1)]).toEqual([42, rest]);
    expect(rest).toEqual([...chunks, 'result']);
  });

  it('ignores what others publish on its channel', async () => {
    const { queue, state } = coreQueue();
    const { id } = await queue.enqueue({});
    const claim = (await queue.claim())!;
    const reading = chunksOf(queue.stream(id));
    await eventually(async () => Number((await state.redis.pubsub('NUMSUB', state.keys.stream(id)))[1]) > 0);
    for (const message of [
      '',
      '{}',
      '{"prev":"0-0","entries":[[]]}',
      '{"prev":"9-9","entries":[["10-1","1j",1]]}',
      '{"prev":"0-0","entries":[["1-1","1x",1]]}',
      '{"prev":"0-0","entries":[["1-1","1j"]]}',
      '{"prev":"0-0","entries":[["1-1","1b",7]]}',
      '{"prev":"0-0","entries":[null]}',
    ]) {
      await state.redis.publish(state.keys.stream(id), message);
    }
    await state.run(
      state.scripts.streams.write({ writes: [{ claim, first: 1, chunks: [{ kind: 'j', json: '1' }] }] }),
    );
    await queue.complete(claim);
    expect(await reading).toEqual([1, 'result']);
  });

  it.each([
    ['of an unknown kind', '2x', '1'],
    ['of an attempt that is none', '0j', '1'],
    ['that is no JSON', '1j', 'forged'],
    ['of bytes that are no text', '1b', '{"a":1}'],
    ['that is empty', '1j', ''],
  ])('gets no chunk of an entry %s, and learns that one is missing', async (_, field, value) => {
    const { queue, state } = coreQueue();
    const { id } = await queue.enqueue({});
    const claim = (await queue.claim())!;
    const write = (first: number) =>
      state.run(
        state.scripts.streams.write({
          writes: [{ claim, first, chunks: [{ kind: 'j', json: `${first}` as never }] }],
        }),
      );
    await write(1);
    await write(2);
    const [[last]] = (await state.redis.xrevrange(state.keys.stream(id), '+', '-', 'COUNT', 1)) as [
      [string, string[]],
    ];
    // Somebody has replaced the last entry: its id is that of the state.
    await state.redis.xdel(state.keys.stream(id), last);
    await state.redis.xsetid(state.keys.stream(id), '1-99999999999999');
    await state.redis.xadd(state.keys.stream(id), last, field, value);
    await queue.complete(claim, 'done');
    const items: unknown[] = [];
    for await (const { type, data } of queue.stream(id)) items.push([type, data]);
    expect(items).toEqual([
      ['chunk', 1],
      ['truncated', { missing: 1 }],
      ['result', 'done'],
    ]);
  });

  it.each([
    ['that are no JSON', 'forged', (i: number) => `${i + 2}-1`],
    ['of a number that was there before', '1', (i: number) => `1-${90_000_000_000_000 + i}`],
    ['that are larger than a page', `"${'x'.repeat(300_000)}"`, (i: number) => `${i + 2}-1`],
  ])('goes on behind a page of entries %s', async (_, value, idOf) => {
    const { queue, state } = coreQueue();
    const { id } = await queue.enqueue({});
    const claim = (await queue.claim())!;
    await state.run(
      state.scripts.streams.write({
        writes: [{ claim, first: 1, chunks: [{ kind: 'j', json: '"own"' }] }],
      }),
    );
    const count = value.length > 1_000 ? 3 : 600;
    for (let i = 0; i < count; i++) await state.redis.xadd(state.keys.stream(id), idOf(i), '1j', value);
    await state.redis.xadd(state.keys.stream(id), '700-1', '1j', '"last"');
    const kept = (await state.field(id, 'stream'))!.replace(/ 1-\d+ /, ' 700-1 ');
    await state.redis.hset(state.keys.job(id), 'stream', kept);
    await queue.complete(claim, 'done');
    const found = await chunksOf(queue.stream(id));
    expect([found[0], found.slice(-3)]).toEqual(['own', ['truncated', 'last', 'result']]);
    const readers = new StreamReaders(queue);
    const stored: StreamItem[] = [];
    for await (const item of readers.stored(id)) stored.push(item);
    expect(stored.length).toBe(found.length - 1);
    expect((await readers.last(id, 700)).at(-1)).toMatchObject({ data: 'last' });
  });

  it.each(['behind', 'in'])(
    'gets a chunk once that is published while it reads a page: %s the page',
    async (where) => {
      let reads = 0;
      const [writing, written] = [gate(), gate()];
      const store = new ScriptStore(undefined, {
        link: async (script, run) => {
          if (script !== 'streamRead' || ++reads !== 2) return run(); // it listens before the second
          const before = where === 'behind' ? { page: run() } : undefined;
          writing.open();
          await written.promise; // the messages arrive before this page
          return before ? before.page : run();
        },
      });
      const queue = openedQueue(store, 'jobs');
      const { id } = await queue.enqueue({});
      const claim = (await queue.claim())!;
      const chunk = (i: number) => ({ claim, first: i, chunks: [{ kind: 'j' as const, json: `${i}` as never }] });
      const write = (i: number) => queue.exec((calls) => calls.streams.write({ writes: [chunk(i)] }));
      const found: unknown[] = [];
      const reading = chunksOf(queue.stream(id), found);
      await writing.promise;
      await write(1);
      await write(2);
      written.open();
      await eventually(() => found.length >= 2);
      await queue.complete(claim);
      expect(await reading).toEqual([1, 2, 'result']);
    },
  );

  it('takes published chunks without a question to Redis', async () => {
    const reads: string[] = [];
    const store = new ScriptStore(undefined, {
      link: async (script, run) => {
        if (script === 'streamRead') reads.push(script);
        return run();
      },
    });
    const queue = openedQueue(store, 'jobs');
    const claimed = (await queue.enqueue({}), (await queue.claim())!);
    const reader = queue.stream(claimed.id)[Symbol.asyncIterator]();
    const calls = await queue.calls();
    const write = (i: number) =>
      queue.exec(() =>
        calls.streams.write({
          writes: [{ claim: claimed, first: i, chunks: [{ kind: 'j', json: `${i}` as never }] }],
        }),
      );
    for (const i of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const next = reader.next();
      await write(i);
      expect(await next).toMatchObject({ value: { data: i } });
    }
    expect(reads.length).toBeLessThanOrEqual(3);
    await reader.return?.();
  });

  it('keeps the record of its job until it has read the end', async () => {
    const { queue, state } = coreQueue({ completedHistory: 0 });
    const { id } = await queue.enqueue({});
    const claim = (await queue.claim())!;
    const reader = queue.stream(id)[Symbol.asyncIterator]();
    const next = reader.next();
    await eventually(async () => (await state.field(id, 'awaited_until_ms')) !== null);
    await queue.complete(claim, 'done');
    expect(await state.redis.pttl(state.keys.job(id))).toBe(-1);
    expect(await next).toMatchObject({ value: { type: 'result', data: 'done' } });
  });
});

it('a window on a stream shows its end, also where the last chunks fill more than a page', async () => {
  const queue = openedQueue(new ScriptStore(), 'jobs');
  const { id } = await queue.enqueue({});
  const claim = (await queue.claim())!;
  const chunks = ['a', 'b', 'c', 'd', 'e'].map((each) => ({
    kind: 'j' as const,
    json: JSON.stringify(each.repeat(150_000)) as never,
  }));
  await queue.exec((calls) => calls.streams.write({ writes: [{ claim, first: 1, chunks }] }));
  const items = await queue.lastStreamed(id, 5);
  expect(items.map(({ data }) => (data as string)[0])).toEqual(['c', 'd', 'e']);
});

describe('the position of a reader', () => {
  const taken = (after: string, of: ReturnType<typeof page>) => {
    const position = new StreamPosition(after, ({ value }) => value);
    return [position.take(of).map(({ type, data }) => [type, data]), position.id];
  };

  it.each([
    ['goes on behind its item', '1-5', page(entry(1, 5), entry(2, 6)), [[['chunk', 2]], '2-6']],
    ['goes on behind an item that was dropped', '1-5', page(entry(2, 6)), [[['chunk', 2]], '2-6']],
    [
      'says what is missing',
      '1-5',
      page(entry(4, 6)),
      [
        [
          ['truncated', { missing: 2 }],
          ['chunk', 4],
        ],
        '4-6',
      ],
    ],
    [
      'says that all is missing',
      '1-5',
      { ...page(), last: '4-9', end: '4-9' },
      [[['truncated', { missing: 3 }]], '4-9'],
    ],
    [
      'misses nothing if the stream began anew',
      '1-5',
      page(entry(4, 6, 'r')),
      [[['attempt', { attempt: 1, restart: true }]], '4-6'],
    ],
    [
      'begins anew in another stream',
      '1-5',
      page(entry(1, 4), entry(2, 6)),
      [[['attempt', { attempt: 1, restart: true }]], '0-0'],
    ],
    ['begins anew in a shorter stream', '3-5', page(), [[['attempt', { attempt: 1, restart: true }]], '0-0']],
    [
      'skips an entry whose number it has had',
      '1-5',
      page(entry(1, 5), entry(1, 6), entry(2, 6), entry(2, 7), entry(3, 8)),
      [
        [
          ['chunk', 2],
          ['chunk', 3],
        ],
        '3-8',
      ],
    ],
    ['reads nothing of an empty stream', '0-0', page(), [[], '0-0']],
  ])('%s', (_what, after, of, expected) => {
    expect(taken(after, of)).toEqual(expected);
  });
});
