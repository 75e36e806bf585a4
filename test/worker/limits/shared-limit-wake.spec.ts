// A permit that comes back wakes a worker that can use it, by virtual time.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';

/** Makes workers on one server, which note what starts. A job runs until the test ends it. */
function fleet(maxRunning: number) {
  const clock = new VirtualClock();
  const server = new ScriptServer(() => clock.now());
  const started: string[] = [];
  const ends = new Map<unknown, () => void>();
  const queue = (name: string, store = new ScriptStore(clock, { server })) =>
    new JobQueue(store, name, { limits: name === 'plain' ? [] : ['shared'] });
  const serve = (id: string, names: string[], concurrency?: number) => {
    const store = new ScriptStore(clock, { server });
    const handle = ({ queue: of, payload }: { queue: string; payload: unknown }) => {
      started.push(`${String(payload)} of ${of} in ${id}`);
      return new Promise<void>((resolve) => ends.set(payload, resolve));
    };
    const served = names.map((name) => ({
      queue: queue(name, store),
      concurrency: concurrency === undefined ? 1 : 10,
      handlers: { [name]: handle },
    }));
    return new Worker(served, { limits: { shared: { maxRunning } }, concurrency });
  };
  const stop = async (...workers: Worker[]) => {
    ends.forEach((end) => end());
    const stopped = Promise.all(workers.map((worker) => worker.stop({ timeoutMs: 0 })));
    await clock.advance(1_000);
    await stopped;
  };
  return { clock, started, ends, queue, serve, stop };
}

it('wakes another worker of a queue whose slots are all used where the permit comes back', async () => {
  const { clock, started, ends, queue, serve, stop } = fleet(2);
  const workers = [serve('first', ['chat', 'summary']), serve('second', ['chat'])] as const;
  const chat = queue('chat');
  await workers[0].start();
  await chat.enqueue('a');
  await queue('summary').enqueue('b');
  await clock.advance(3_000);
  await workers[1].start();
  await chat.enqueue('c');
  await clock.advance(3_300);
  expect(started).toEqual(['a of chat in first', 'b of summary in first']);
  ends.get('b')!();
  await clock.advance(20); // less than until the second worker asks again
  expect(started.slice(2)).toEqual(['c of chat in second']);
  await stop(...workers);
});

it('wakes another worker where the process that gives a permit back has no slot left', async () => {
  const { clock, started, ends, queue, serve, stop } = fleet(1);
  const workers = [serve('first', ['chat', 'summary', 'plain'], 1), serve('second', ['chat'])] as const;
  await workers[0].start();
  await queue('summary').enqueue('b');
  await clock.advance(3_000);
  await workers[1].start();
  await queue('plain').enqueue('p');
  await queue('chat').enqueue('c');
  await clock.advance(3_300);
  expect(started).toEqual(['b of summary in first']);
  ends.get('b')!();
  await clock.advance(20); // less than until the second worker asks again
  expect(started.slice(1).toSorted()).toEqual(['c of chat in second', 'p of plain in first']);
  await stop(...workers);
});

it('wakes another worker of a queue that rests where the permit comes back', async () => {
  const { clock, started, ends, queue, serve, stop } = fleet(1);
  const workers = [serve('first', ['chat', 'summary']), serve('second', ['chat'])] as const;
  await workers[0].start();
  await queue('summary').enqueue('b');
  await clock.advance(3_000);
  await workers[1].start();
  await queue('chat').enqueue('c');
  await clock.advance(3_300);
  expect(started).toEqual(['b of summary in first']);
  workers[0]['runners'].find(({ name }) => name === 'chat')!.rest(1_000); // as after an error of a script
  ends.get('b')!();
  await clock.advance(20); // less than until the second worker asks again
  expect(started.slice(1)).toEqual(['c of chat in second']);
  await stop(...workers);
});
