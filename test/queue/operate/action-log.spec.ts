import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { ActionEntry } from '#queue/store/action-entry.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { JobQueue } from '#queue/job-queue.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const ADA = { via: 'cli', by: 'ada@box' } as const;
const NIGHTLY = { cron: '0 3 * * *' };

/** Returns what an entry says, without its time and its author. */
const said = ({ action, subject, count }: ActionEntry) => [action, subject, count];

async function logOf(queue: JobQueue): Promise<unknown[]> {
  return (await queue.actionLog.latest()).map(said);
}

onEachStore('the action log', () => {
  it('has the verbs for queues, groups and schedules that the code of this process called, by its program', async () => {
    const queue = newQueue();
    await queue.pause({ reason: 'no mail' });
    await queue.resume();
    await queue.limits.set({ maxRunning: 2 });
    await queue.limits.change({ maxRunning: null });
    await queue.limits.clear();
    await queue.groups.set('g', { weight: 2 });
    await queue.groups.pause('g');
    await queue.groups.resume('g');
    await queue.groups.clear('g');
    await queue.schedules.upsert('nightly', NIGHTLY);
    await queue.schedules.pause('nightly');
    await queue.schedules.resume('nightly');
    await queue.schedules.runNow('nightly');
    await queue.schedules.remove('nightly');
    await queue.purge({ confirm: queue.name });
    expect((await logOf(queue)).toReversed()).toEqual([
      ['pause', 'the queue: reason no mail', 1],
      ['resume', 'the queue', 1],
      ['limits', 'the queue: maxRunning 2', 1],
      ['limits', 'the queue: maxRunning null', 1],
      ['clear-limits', 'the queue', 1],
      ['limit-group', 'group g: weight 2', 1],
      ['pause-group', 'group g', 1],
      ['resume-group', 'group g', 1],
      ['clear-group', 'group g', 1],
      ['set-schedule', expect.stringMatching(/^schedule nightly: cron 0 3 \* \* \*, timeZone /), 1],
      ['pause-schedule', 'schedule nightly', 1],
      ['resume-schedule', 'schedule nightly', 1],
      ['run-schedule', 'schedule nightly', 1],
      ['remove-schedule', 'schedule nightly', 1],
      ['purge', 'the queue', 1],
    ]);
    const [last] = await queue.actionLog.latest({ action: 'pause-group' });
    expect(last).toMatchObject({ via: 'app', target: { kind: 'group', id: 'g' } });
    expect(last!.by).toMatch(new RegExp(`@.+ \\(pid ${process.pid}\\)$`));
  });

  it.each(['dashboard', 'cli', 'app'] as const)('finds the entries of the way %s', async (via) => {
    const queue = newQueue();
    for (const way of ['dashboard', 'cli', 'app'] as const) {
      queue.author = { via: way, by: 'ada' };
      await (way === 'cli' ? queue.resume() : queue.pause());
    }
    expect((await queue.actionLog.latest({ via })).map((entry) => entry.via)).toEqual([via]);
  });

  it('counts dead letters that were redriven or discarded', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    await queue.enqueueMany(['a', 'b', 'c', 'd'].map((id) => ({ payload: 1, id })));
    for (const job of await queue.claimMany(4)) await queue.fail(job, 'no');
    await queue.deadLetters.redriveMany(['a', 'none']);
    await queue.deadLetters.redrive('b');
    await queue.deadLetters.discard('c');
    await queue.deadLetters.discardAll({ error: 'no' });
    await queue.clean('pending');
    await queue.deadLetters.markKind('4ddfd7b1f5', { known: true, note: 'ticket 7' });
    expect(await logOf(queue)).toEqual([
      ['mark-error', 'the kind of error 4ddfd7b1f5: known true, note ticket 7', 1],
      ['clean', 'pending jobs', 2],
      ['discard', 'all dead letters with a text in their error', 1],
      ['discard', 'job c', 1],
      ['redrive', 'job b', 1],
      ['redrive', '2 chosen dead letters', 1],
    ]);
  });

  it('has no entry of code that changed nothing, was refused, or changed one job', async () => {
    const queue = newQueue();
    await queue.resume();
    await queue.deadLetters.redriveAll();
    await expect(queue.limits.change({ rateLimit: { burst: 2 } })).rejects.toThrow('rateLimit');
    await queue.enqueue(1, { id: 'a', delayMs: 60_000 });
    await queue.promote('a');
    await queue.cancel('a');
    expect(await logOf(queue)).toEqual([]);
  });

  it('has each change of a person, also of one job, and also without an effect', async () => {
    const queue = newQueue();
    await queue.enqueue(1, { id: 'a', delayMs: 60_000 });
    const adas = queue.as(ADA);
    await adas.reschedule('a', { delayMs: 30_000 });
    await adas.promote('a');
    await adas.setPriority('a', 3);
    await adas.update('a', 2);
    await adas.cancel('a');
    await adas.runAgain('a');
    await adas.remove('a');
    await adas.remove('a');
    await adas.deadLetters.redriveAll();
    expect((await logOf(queue)).toReversed()).toEqual([
      ['reschedule', 'job a', 1],
      ['promote', 'job a', 1],
      ['set-priority', 'job a', 1],
      ['edit', 'job a', 1],
      ['cancel', 'job a', 1],
      ['run-again', 'job a', 1],
      ['remove', 'job a', 1],
      ['remove', 'job a', 0],
      ['redrive', 'all dead letters', 0],
    ]);
    expect(await queue.actionLog.latest({ limit: 1 })).toMatchObject([{ ...ADA, at: expect.any(Date) }]);
  });

  it('is not written for an author who writes it', async () => {
    const queue = newQueue();
    await queue.as(null).pause();
    expect([await logOf(queue), (await queue.stats()).pausedAt]).toEqual([[], expect.any(Date)]);
  });

  it('keeps the begin of an action whose end is unknown', async () => {
    const queue = newQueue();
    const lost = queue.as(ADA).actionLog.record({ action: 'pause', subject: 'the queue' }, async () => {
      expect(await logOf(queue)).toEqual([['pause', 'the queue', null]]);
      throw new Error('the connection is gone');
    });
    await expect(lost).rejects.toThrow('gone');
    expect(await logOf(queue)).toEqual([['pause', 'the queue', null]]);
  });

  it('returns the outcome of an action whose end cannot be written, and logs that', async () => {
    const queue = newQueue();
    const { actionLog, errors, restore } = withoutEnds(queue);
    expect(await actionLog.record({ action: 'pause', subject: 'the queue' }, () => Promise.resolve(7))).toBe(7);
    restore();
    expect(errors).toEqual([expect.stringMatching(/^Could not write .* how "pause" ended: READONLY$/)]);
    expect(await logOf(queue)).toEqual([['pause', 'the queue', null]]);
  });

  it('rejects with the refusal of an action whose end cannot be written', async () => {
    const queue = newQueue();
    const { actionLog, errors, restore } = withoutEnds(queue);
    const refusal = new InvalidOptionError('limit', 'a number', 'none');
    const refused = actionLog.record({ action: 'pause', subject: 'the queue' }, () => Promise.reject(refusal));
    await expect(refused).rejects.toBe(refusal);
    restore();
    expect(errors).toEqual([expect.stringMatching(/^Could not write .* how "pause" ended: READONLY$/)]);
  });

  it('finds by action, author and way, page by page', async () => {
    const queue = newQueue();
    await queue.pause();
    await queue.as(ADA).resume();
    await queue.as({ via: 'dashboard', by: 'bob' }).pause();
    const by = async (filter: object) => (await queue.actionLog.latest(filter)).map(({ via }) => via);
    expect(await by({ action: 'pause' })).toEqual(['dashboard', 'app']);
    expect(await by({ by: 'ADA' })).toEqual(['cli']);
    expect(await by({ via: 'app', action: 'pause' })).toEqual(['app']);
    const [first] = await queue.actionLog.latest({ limit: 1 });
    expect(await by({ before: first!.entryId })).toEqual(['cli', 'app']);
    expect(await by({ before: first!.entryId, limit: 1 })).toEqual(['cli']);
  });

  it('lets a change of a schedule reach the listeners of the queue, whoever makes it', async () => {
    const queue = newQueue();
    let changes = 0;
    queue.schedules.onChange(() => changes++);
    await queue.as(ADA).schedules.upsert('nightly', NIGHTLY);
    expect(changes).toBe(1);
  });
});

/** Lets the log of a queue refuse the ends of actions, and collects the errors that are logged until `restore`. */
function withoutEnds(queue: JobQueue) {
  const { store } = queue;
  const { logger } = store;
  const errors: string[] = [];
  store.logger = { ...silentLogger, error: (message) => errors.push(message) };
  const { actionLog } = queue.as(ADA);
  const note = actionLog.note.bind(actionLog);
  actionLog.note = (action) => (action.of === undefined ? note(action) : Promise.reject(new Error('READONLY')));
  return { actionLog, errors, restore: () => (store.logger = logger) };
}

describe('the action log on Redis', () => {
  it('costs a job nothing, and a verb two calls', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1);
    await queue.complete((await queue.claim())!);
    expect(await state.redis.exists(state.keys.actions)).toBe(0);
    await queue.pause();
    expect(await state.redis.xlen(state.keys.actions)).toBe(2);
  });

  it('counts the repairs of the doctor, and has no entry of a look', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1, { id: 'a' });
    await state.redis.hset(state.keys.stats, 'enqueued_total', 'many');
    await queue.doctor();
    await queue.doctor({ repair: true });
    await queue.doctor({ repair: true });
    expect(await logOf(queue)).toEqual([['repair', 'the queue', 1]]);
  });

  it('leaves nothing behind a purge of everything', async () => {
    const { queue, state } = coreQueue();
    await queue.pause();
    await queue.purge({ confirm: queue.name, everything: true });
    expect(await state.redis.exists(state.keys.actions)).toBe(0);
  });
});
