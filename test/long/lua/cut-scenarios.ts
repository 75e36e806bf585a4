// States in which a script writes as much as it can. Each ends with the call of the script.
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { ClaimedJob } from '#queue/model/job.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';
import type { TestQueue } from '../../support/queue/queue-state.js';

export interface World {
  queue: JobQueue;
  state: TestQueue;
}

export interface Scenario {
  name: string;
  /** Seeds the state, and returns the call to cut. */
  seed: (world: World) => Promise<ScriptCall<unknown>>;
  /** True if the job waits until the caller has sent the call again. */
  repeats?: true;
}

const ERROR = { name: 'Error', message: 'no' };
const failure = (job: ClaimedJob, more: object = {}) => ({
  ...job,
  error: ERROR,
  final: false,
  backoffMs: 0,
  ...more,
});
const final = { final: true };
const encoded = (id: string, options: object = {}) => ({
  id,
  name: 'n',
  payload: '1',
  options: Object.keys(options).length > 0 ? JSON.stringify(options) : '',
});

/** A set or hash of this many jobs becomes a tree. See lua/lib/settle/claim_ids and lua/lib/group/padding. */
const MANY = Array.from({ length: 9 }, (_, i) => `many-${i}`);

/** Returns a job for each of many groups. */
function inManyGroups(prefix = '') {
  return MANY.map((id) =>
    encoded(prefix + id, { group: `group-of-${id}`, worker: JSON.stringify({ group: `group-of-${id}` }) }),
  );
}

/** A job with each option, and a job that waits for it. */
const RICH: EnqueueOptions = { id: 'a', unique: { key: 'u', for: 'unfinished' }, group: 'g', maxAttempts: 5 };

async function limitGroups({ queue }: World): Promise<void> {
  await queue.limits.set({ groups: { maxRunning: 1 } });
}

async function rich(world: World): Promise<void> {
  await limitGroups(world);
  await world.queue.enqueue(1, RICH);
  await world.queue.enqueue(2, { id: 'b', group: 'g' });
  await world.queue.enqueue(3, { id: 'c', after: ['a'] });
}

async function member({ queue }: World, options: EnqueueOptions = {}, failFast = false): Promise<void> {
  const batch = queue.batch({ id: 'batch', finally: { name: queue.name }, failFast });
  await batch.add(queue.name, 1, { id: 'a', ...options });
  if (failFast) {
    await batch.add(queue.name, 2, { id: 'b' });
  }
  await batch.seal();
}

async function claimed({ state }: World, count = 1): Promise<ClaimedJob[]> {
  return state.claim(count);
}

async function dead(world: World): Promise<void> {
  const [job] = await claimed(world);
  await world.state.run(world.state.scripts.fail([failure(job!, final)]));
}

export const SCENARIOS: Scenario[] = [
  {
    name: 'enqueue, plain jobs',
    seed: async ({ state }) => state.enqueueCall([encoded('a'), encoded('b')]),
  },
  {
    name: 'enqueue, a job with each option',
    seed: async (world) => {
      await world.queue.batch({ id: 'batch', then: { name: 'n' } }).add('n', 1);
      const waits = {
        unique: 'u',
        unique_for: 60_000,
        batch: 'batch',
        group: 'g',
        group_limits: '["1","","","","","","",""]',
      };
      const [first] = await world.queue.list('pending');
      return world.state.enqueueCall([
        encoded('a', waits),
        encoded('b', { priority: 2 }),
        encoded('c', { delay_ms: 60_000 }),
        encoded('d', { after: [first!.id] }),
      ]);
    },
  },
  {
    name: 'enqueue, a replacement',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a', unique: { key: 'u', for: 'pending' }, priority: 1 });
      return state.enqueueCall([
        encoded('b', { unique: 'u', unique_for: 'pending', unique_replace: true, group: 'g' }),
      ]);
    },
  },
  {
    name: 'claim, of each place',
    seed: async (world) => {
      await world.state.run(
        world.state.scripts.limits.set({ maxRunning: 5, rateLimit: { limit: 9, periodMs: 9_000 } }),
      );
      await rich(world);
      await world.queue.enqueue(1, { id: 'due', delayMs: 60_000 });
      await world.queue.enqueue(1, { id: 'first', priority: 1 });
      await world.queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
      await world.state.makeDue('due');
      return world.state.claimCall(10);
    },
  },
  {
    name: 'claim, of so many plain jobs that claims become a tree',
    seed: async ({ state }) => {
      await state.addAll(...MANY);
      return state.claimCall(MANY.length);
    },
  },
  {
    name: 'enqueue, into many groups',
    seed: async (world) => {
      await limitGroups(world);
      return world.state.enqueueCall(inManyGroups());
    },
  },
  {
    name: 'claim, of many groups',
    seed: async (world) => {
      await limitGroups(world);
      await world.state.run(world.state.enqueueCall(inManyGroups()));
      return world.state.claimCall(MANY.length);
    },
  },
  {
    name: 'complete, of many groups',
    seed: async (world) => {
      await limitGroups(world);
      await world.state.run(world.state.enqueueCall([...inManyGroups(), ...inManyGroups('next-')]));
      const jobs = await claimed(world, MANY.length);
      return world.state.scripts.complete(jobs.map((job) => ({ ...job, result: '1' })));
    },
  },
  {
    name: 'complete, plain jobs',
    seed: async (world) => {
      await world.state.addAll('a', 'b');
      return world.state.scripts.complete((await claimed(world, 2)).map((job) => ({ ...job, result: '1' })));
    },
  },
  {
    name: 'complete, a job with each option',
    seed: async (world) => {
      await rich(world);
      return world.state.scripts.complete(
        (await claimed(world)).map((job) => ({ ...job, result: '1' })),
        true,
      );
    },
  },
  {
    name: 'complete, the last member of a batch',
    seed: async (world) => {
      await member(world);
      return world.state.scripts.complete((await claimed(world)).map((job) => ({ ...job, result: '1' })));
    },
  },
  {
    name: 'fail, with a retry',
    seed: async (world) => {
      await rich(world);
      return world.state.scripts.fail((await claimed(world)).map((job) => failure(job, { backoffMs: 60_000 })));
    },
  },
  {
    name: 'fail, for good',
    seed: async (world) => {
      await world.state.run(
        world.state.scripts.workers.register({
          worker: 'w',
          serves: true,
          handlers: [{ name: `@failed:${world.queue.name}`, maxAttempts: 1, maxCrashes: 1 }],
        }),
      );
      await rich(world);
      return world.state.scripts.fail((await claimed(world)).map((job) => failure(job, final)));
    },
  },
  {
    name: 'fail, a member of a batch that fails fast',
    seed: async (world) => {
      await member(world, {}, true);
      return world.state.scripts.fail((await claimed(world)).map((job) => failure(job, final)));
    },
  },
  {
    name: 'release',
    seed: async (world) => {
      await rich(world);
      const [job] = await claimed(world);
      return world.state.scripts.release([{ ...job!, reason: 'interruption', delayMs: 0 }]);
    },
  },
  {
    name: 'release, a snooze',
    seed: async (world) => {
      await rich(world);
      const [job] = await claimed(world);
      return world.state.scripts.release([{ ...job!, reason: 'snooze', delayMs: 60_000 }]);
    },
  },
  {
    name: 'release, a wait for a signal',
    seed: async (world) => {
      await rich(world);
      const [job] = await claimed(world);
      const wait = { name: 'ok', kind: 'signal', timeoutMs: 60_000 } as const;
      await world.state.run(world.state.scripts.wait({ claim: job!, ...wait }));
      return world.state.scripts.release([{ ...job!, reason: 'wait', delayMs: 0 }]);
    },
  },
  {
    name: 'signal, of a parked job',
    repeats: true,
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a', priority: 1 });
      const [job] = await state.claim(1);
      await state.run(state.scripts.wait({ claim: job!, name: 'ok', kind: 'signal' }));
      await state.run(state.scripts.release([{ ...job!, reason: 'wait', delayMs: 0 }]));
      return state.scripts.signal({ id: 'a', signal: 'ok', data: '1', request: 'r' });
    },
  },
  {
    name: 'reclaim, to the line',
    seed: async (world) => {
      await rich(world);
      await world.state.addAll('p', 'q');
      await claimed(world, 3);
      await world.state.expireClaims(...(await world.state.ranked(world.state.keys.claims)));
      return world.state.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 });
    },
  },
  {
    name: 'reclaim, to the dead letters',
    seed: async (world) => {
      await member(world, { maxAttempts: 1 });
      await claimed(world);
      await world.state.expireClaims('a');
      return world.state.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 });
    },
  },
  {
    name: 'promote, of each kind',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a', delayMs: 60_000 });
      await queue.enqueue(1, { id: 'b', delayMs: 60_000, priority: 1 });
      await queue.enqueue(1, { id: 'c', delayMs: 60_000, group: 'g' });
      await state.makeDue('a', 'b', 'c');
      return state.scripts.sweep.promote({ limit: 10 });
    },
  },
  {
    name: 'adopt-foreign',
    seed: async ({ queue, state }) => {
      await queue.enqueueMany([
        { id: 'a', payload: 1 },
        { id: 'b', payload: 2 },
      ]);
      for (const id of ['a', 'b']) {
        await state.redis.lmove(state.keys.pending, state.keys.processing, 'RIGHT', 'LEFT');
        await state.redis.hset(state.keys.job(id), 'status', 'processing', 'claim_token', 't', 'attempts', 1);
      }
      await state.run(state.scripts.sweep.adoptForeign({ limit: 10 }));
      for (const seen of await state.ranked(state.keys.foreignClaims)) {
        await state.redis.zadd(state.keys.foreignClaims, 1, seen);
      }
      return state.scripts.sweep.adoptForeign({ limit: 10 });
    },
  },
  {
    name: 'adopt-failed',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a' });
      await state.redis.rpop(state.keys.pending);
      await state.redis.hset(state.keys.job('a'), 'status', 'failed', 'last_error', 'no');
      await state.redis.lpush(state.keys.failed, 'a');
      await state.redis.expire(state.keys.job('a'), 300);
      return state.scripts.sweep.adoptFailed({ ids: ['a'] });
    },
  },
  {
    name: 'tidy',
    seed: async (world) => {
      const { state, queue } = world;
      await state.addAll('a', 'b');
      await dead(world);
      await state.run(state.scripts.complete((await claimed(world)).map((job) => ({ ...job, result: '1' }))));
      await queue.enqueue(1, { id: 'u', unique: { key: 'u', for: { ms: 60_000 } } });
      await state.redis.zadd(state.keys.uniqueExpiries, 1, 'u');
      await state.redis.zadd(state.keys.dead, 1, 'a');
      await state.redis.lpush(state.keys.completed, 'gone');
      return state.scripts.sweep.tidy({ limit: 10 });
    },
  },
  {
    name: 'maintain-batches, an unmet job and a lost member',
    seed: async (world) => {
      const { queue, state } = world;
      await member(world);
      await queue.enqueue(1, { id: 'after', after: ['a'] });
      await dead(world);
      await queue.enqueue(2, { id: 'after-that', after: ['after'] });
      return state.scripts.sweep.maintainBatches({ limit: 10, all: true });
    },
  },
  {
    name: 'maintain-batches, the waiting members of a stopped batch',
    seed: async ({ queue, state }) => {
      const batch = queue.batch({ id: 'batch', finally: { name: queue.name } });
      await batch.addMany(queue.name, [{ payload: 1, id: 'a' }, { payload: 2 }, { payload: 3 }]);
      await queue.enqueue(4);
      await batch.seal();
      await state.run(state.scripts.batches.stop({ id: 'batch' }));
      return state.scripts.sweep.maintainBatches({ limit: 10, all: false });
    },
  },
  {
    name: 'cancel, a job that waits',
    seed: async (world) => {
      await rich(world);
      await member(world, { id: 'm', priority: 1 });
      return world.state.scripts.cancel({ id: 'a' });
    },
  },
  {
    name: 'cancel, a member of a batch',
    seed: async (world) => {
      await member(world);
      return world.state.scripts.cancel({ id: 'a' });
    },
  },
  {
    name: 'remove, a member of a batch',
    seed: async (world) => {
      await member(world);
      return world.state.scripts.remove({ id: 'a' });
    },
  },
  {
    name: 'remove, a job with each option',
    seed: async (world) => {
      await rich(world);
      return world.state.scripts.remove({ id: 'a' });
    },
  },
  {
    name: 'redrive',
    seed: async (world) => {
      await rich(world);
      await dead(world);
      await world.state.add('p');
      return world.state.scripts.deadLetters.redrive({ ids: ['a'] });
    },
  },
  {
    name: 'redrive-as-new',
    seed: async (world) => {
      await rich(world);
      await dead(world);
      await world.state.add('p');
      return world.state.scripts.deadLetters.redriveAsNew({ id: 'a', newId: 'z' });
    },
  },
  {
    name: 'discard',
    seed: async (world) => {
      await rich(world);
      await dead(world);
      return world.state.scripts.deadLetters.discard({ letters: [{ id: 'a' }] });
    },
  },
  {
    name: 'reschedule, to later',
    seed: async (world) => {
      await rich(world);
      return world.state.scripts.reschedule({ id: 'a', delayMs: 60_000 });
    },
  },
  {
    name: 'reschedule, to now',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a', delayMs: 60_000, group: 'g' });
      return state.scripts.reschedule({ id: 'a', delayMs: 0 });
    },
  },
  {
    name: 'promote one job',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a', delayMs: 60_000, priority: 1 });
      return state.scripts.promote({ id: 'a' });
    },
  },
  {
    name: 'set-priority',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a' });
      return state.scripts.setPriority({ id: 'a', priority: 5 });
    },
  },
  {
    name: 'run-again',
    seed: async (world) => {
      await rich(world);
      await world.state.run(
        world.state.scripts.complete((await claimed(world)).map((job) => ({ ...job, result: '1' }))),
      );
      return world.state.scripts.runAgain({ id: 'a', request: 'request' });
    },
  },
  ...(['pending', 'grouped', 'scheduled', 'failed', 'completed'] as const).map((place) => ({
    name: `clean, ${place}`,
    seed: async (world: World) => {
      const { queue, state } = world;
      await queue.enqueue(1, { id: 'dead' });
      await dead(world);
      await queue.enqueue(1, { id: 'done' });
      await state.run(state.scripts.complete((await claimed(world)).map((job) => ({ ...job, result: '1' }))));
      await rich(world);
      await queue.enqueueMany([{ payload: 1, delayMs: 60_000 }, { payload: 2 }]);
      return state.scripts.clean({ place, olderThanMs: 0, limit: 10, passed: 0 });
    },
  })),
  {
    name: 'purge',
    seed: async (world) => {
      await rich(world);
      await world.queue.enqueueMany([{ payload: 1, delayMs: 60_000 }, { payload: 2 }, { payload: 3, priority: 1 }]);
      await claimed(world);
      return world.state.scripts.purge({ limit: 10 });
    },
  },
  {
    name: 'batch: seal an empty one',
    seed: async ({ queue, state }) => {
      await queue.batch({ id: 'batch', finally: { name: queue.name } }).addMany(queue.name, []);
      return state.scripts.batches.seal({ id: 'batch' });
    },
  },
  {
    name: 'batch: stop',
    seed: async (world) => {
      await member(world, {}, true);
      return world.state.scripts.batches.stop({ id: 'batch' });
    },
  },
  {
    name: 'batch: deliver the last end',
    seed: async ({ queue, state }) => {
      const batch = queue.batch({ id: 'batch', finally: { name: queue.name } });
      await batch.addMany(queue.name, []);
      await state.run(state.scripts.batches.join({ id: 'batch', members: ['other\ta'] }));
      await batch.seal();
      return state.scripts.batches.deliver({
        from: 'other',
        ends: [{ queue: state.name, batch: 'batch', id: 'a', number: '5', state: 'completed', detail: '1' }],
      });
    },
  },
  {
    name: 'hold a result',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a' });
      return state.scripts.holdResult({ id: 'a', forMs: 60_000 });
    },
  },
  {
    name: 'complete a job with an id of its own, and one that others wait for',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a' });
      await queue.enqueue(2, { id: 'b', after: ['a'] });
      const [a] = await queue.claimMany(1);
      return state.scripts.complete([{ ...a!, plain: false, result: '1' }]);
    },
  },
  {
    name: 'look at kept records',
    seed: async ({ queue, state }) => {
      await queue.enqueue(1, { id: 'a' });
      await queue.enqueue(2, { id: 'b', after: ['a'] });
      for (const _ of ['a', 'b']) await queue.complete((await queue.claim())!, 1);
      await state.redis.zadd(state.keys.keptResults, 'XX', 1, 'a');
      return state.scripts.sweep.lookAtKept({ limit: 10 });
    },
  },
  {
    name: 'group: set',
    seed: async (world) => {
      await rich(world);
      return world.state.scripts.groups.set({ name: 'g', limits: { maxRunning: 2, weight: 2 } });
    },
  },
  {
    name: 'group: pause',
    seed: async (world) => {
      await rich(world);
      return world.state.scripts.groups.pause({ name: 'g' });
    },
  },
  {
    name: 'group: clean',
    seed: async (world) => {
      await rich(world);
      return world.state.scripts.groups.clean({ name: 'g', olderThanMs: 0, limit: 10, passed: 0 });
    },
  },
];
