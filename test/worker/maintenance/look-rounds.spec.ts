import { expect, it, jest } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { LookRounds, type OpenQueue } from '#worker/maintenance/maintenance-right.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';

async function opened(count: number, visibilityMs: number): Promise<OpenQueue[]> {
  const store = new ScriptStore(systemClock, { server: new ScriptServer(() => 0) });
  const queues = Array.from({ length: count }, (_, i) => new JobQueue(store, `q${i}`, { visibilityMs }));
  return Promise.all(queues.map(async (queue) => ({ queue, calls: await queue.calls() })));
}

/** Returns how often each queue was looked at in these rounds. */
function looksIn(rounds: LookRounds, count: number, queues: readonly OpenQueue[]): number[] {
  const looked = Array.from({ length: count }, () => rounds.next(queues, false).looked);
  return queues.map((queue) => looked.filter((each) => each.includes(queue)).length);
}

it('a sweep looks at an empty queue of many each third round, and at one with work each round', async () => {
  const queues = await opened(400, 30_000);
  const rounds = new LookRounds(5_000);
  expect(rounds.next(queues, false).looked).toHaveLength(400); // the first round knows nothing
  rounds.note(queues[7]!.queue, true);
  const looks = looksIn(rounds, 9, queues);
  expect(looks.filter((each) => each !== 3)).toEqual([9]);
  rounds.note(queues[7]!.queue, false);
  expect(new Set(looksIn(rounds, 9, queues))).toEqual(new Set([3]));
});

it('a sweep looks at all queues after another process maintained them, and where the caller asks for it', async () => {
  const queues = await opened(400, 30_000);
  const rounds = new LookRounds(5_000);
  looksIn(rounds, 4, queues);
  rounds.restart();
  expect(rounds.next(queues, false).looked).toHaveLength(400);
  expect(rounds.next(queues, false).looked.length).toBeLessThan(150);
  expect(rounds.next(queues, true).looked).toHaveLength(400);
});

it('a sweep looks often enough that live workers have a heartbeat before a claim expires', async () => {
  const queues = await opened(400, 9_000);
  const rounds = new LookRounds(5_000);
  expect(new Set(looksIn(rounds, 3, queues))).toEqual(new Set([3]));
});

it('a sweep looks at few queues in each round', async () => {
  const queues = await opened(300, 30_000);
  expect(new Set(looksIn(new LookRounds(5_000), 3, queues))).toEqual(new Set([3]));
});

it('the rounds return the same calls for the same queues, so that their keys are built once', async () => {
  const queues = await opened(400, 30_000);
  const rounds = new LookRounds(5_000);
  looksIn(rounds, 4, queues);
  const calls = Array.from({ length: 6 }, () => rounds.next(queues, false).calls);
  expect(calls[3]).toBe(calls[0]);
  expect(calls[4]).toBe(calls[1]);
});

it('a sweep looks in the next round again at queues whose look failed', async () => {
  const queues = await opened(400, 30_000);
  const sweeper = new Sweeper(
    queues.map((each) => each.queue),
    5_000,
    silentLogger,
  );
  const look = jest.spyOn(queues[0]!.queue.store.queues, 'look');
  await sweeper.runRound();
  look.mockImplementationOnce((calls) =>
    Promise.resolve(calls.map(() => ({ ok: false as const, error: new Error('timed out') }))),
  );
  await sweeper.runRound();
  await sweeper.runRound();
  await sweeper.stop();
  const [failed, next] = look.mock.calls.slice(-2).map(([calls]) => calls);
  expect(failed!.length).toBeLessThan(150);
  expect(failed!.filter((calls) => !next!.includes(calls))).toEqual([]);
});

const queueOf = (calls: unknown) => (calls as QueueCalls).keys.queue;

it('a round for one server leaves out servers whose names begin or end with its own', async () => {
  const queues = (await opened(3, 30_000)).map((each) => each.queue);
  const names = ['0.0.0.1:63', '10.0.0.1:63', '0.0.0.1:6379'];
  const { store } = queues[0]!;
  jest.spyOn(store, 'serverOf').mockImplementation((calls) => names[Number(queueOf(calls).slice(1))]!);
  const look = jest.spyOn(store.queues, 'look');
  const sweeper = new Sweeper(queues, 5_000, silentLogger);
  await sweeper.runRound(names[0]);
  await sweeper.stop();
  expect(new Set(look.mock.calls.flatMap(([calls]) => calls.map(queueOf)))).toEqual(new Set(['q0']));
});
