// What a worker logs of failed attempts and dead letters.
import { describe, expect, it } from '@jest/globals';
import { NonRetryableError } from '#queue/errors/errors.js';
import { silentLogger, type JobQueueLogger } from '#queue/runtime/logger.js';
import { SafeLogger } from '#queue/errors/safe-logger.js';
import { FailureLog } from '#worker/reports/failure-log.js';
import type { Job } from '#worker/handlers/job.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

/** Makes a logger that keeps its lines, each with its level. */
function keptLog(): { lines: string[]; logger: JobQueueLogger } {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  return { lines, logger: { log: at('log'), warn: at('warn'), error: at('error') } };
}

function failOnce({ payload, attempt }: Job<{ final: boolean }>): void {
  if (payload.final) throw new NonRetryableError('no such address');
  if (attempt === 1) throw new Error('once');
}

onEachStore('a handler that throws', () => {
  it('is logged at warn while the job is tried again, and at error once it is a dead letter', async () => {
    const queue = newQueue({ maxAttempts: 2, backoff: 5 });
    const { lines, logger } = keptLog();
    const secret = { to: 'secret@example.com' };
    const { id } = await queue.enqueue(secret);
    const cause = new TypeError('no route', { cause: 'the cable' });
    const handler = () => Promise.reject(new Error('not sent', { cause }));
    const worker = await startWorker(queue, handler, { logger, logFailures: true });
    await worker.event('failed');
    const job = `Job ${id} ("${queue.name}" in queue "${queue.name}")`;
    expect(lines.map((line) => line.split('\n')[0])).toEqual([
      `warn ${job} failed in attempt 1 of 2; tried again after 5 ms: Error: not sent`,
      `error ${job} failed in attempt 2 of 2 and is a dead letter: Error: not sent`,
    ]);
    for (const line of lines) {
      expect(line).toMatch(/\n {4}at .*failure-log\.spec/);
      expect(line).toContain('\n  [cause] TypeError: no route\n');
      expect(line).toContain('\n    [cause] Error: the cable');
      expect(line).not.toContain('secret');
    }
  });

  it('has the causes of its error stored with the attempt', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue({});
    const errors = [new RangeError('first'), 'second'];
    const thrown = new AggregateError(errors, 'none went', { cause: new Error('why') });
    const worker = await startWorker(queue, () => Promise.reject(thrown));
    await worker.event('failed');
    const { attemptLog } = (await queue.get(id))!;
    expect(attemptLog[0]!.error).toMatchObject({
      name: 'AggregateError',
      message: 'none went',
      cause: { name: 'Error', message: 'why', stack: expect.stringContaining('failure-log.spec') },
      errors: [
        { name: 'RangeError', message: 'first' },
        { name: 'Error', message: 'second' },
      ],
    });
  });

  it('is logged with its retry at once, and as a dead letter at its first attempt where no other helps', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const { lines, logger } = keptLog();
    await queue.enqueue({ final: false });
    await queue.enqueue({ final: true });
    const worker = await startWorker(queue, failOnce, { logger, logFailures: true, perQueue: 1 });
    await worker.event('failed');
    await worker.event('completed');
    expect(lines).toHaveLength(2);
    expect(lines).toContainEqual(
      expect.stringMatching(/^warn .* failed in attempt 1 of 2; tried again at once: Error: once\n/),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^error .* attempt 1 of 2 and is a dead letter: NonRetryableError: no such/),
    );
  });

  it.each<[string, boolean | object, string[]]>([
    ['by default', true, ['warn', 'error']],
    ['not at all', false, []],
    ['at levels of its own', { attempts: 'log', deadLetters: 'warn' }, ['log', 'warn']],
    ['only of dead letters', { attempts: 'off' }, ['error']],
  ])('is logged %s', async (_, logFailures, levels) => {
    const queue = newQueue({ maxAttempts: 2 });
    const { lines, logger } = keptLog();
    await queue.enqueue({});
    const worker = await startWorker(queue, () => Promise.reject(new Error('no')), { logger, logFailures });
    await worker.event('failed');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(levels);
  });

  it('cannot forge a line by its message, nor by the id or the name of its job', async () => {
    const { lines, logger } = keptLog();
    const forged = `x\n[Nest] 1 ERROR forged\x1b[2J${'y'.repeat(100_000)}`;
    const job = { id: forged, name: forged, queue: 'q', attempt: 1, maxAttempts: 1 };
    const log = new FailureLog(SafeLogger.of(logger));
    log.deadLetter(job, { name: forged, message: forged });
    log.workerLost({ id: forged, status: 'failed', worker: forged }, 'q');
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line).not.toMatch(/\p{Cc}/u);
      expect(line.length).toBeLessThan(6_000);
    }
  });
});

onEachStore('dead letters beyond the cap', () => {
  it('are counted, and logged as a warning by the first sweep', async () => {
    const queue = newQueue({ maxAttempts: 1, deadLetterCap: 2 });
    const { lines, logger } = keptLog();
    await queue.enqueueMany(Array.from({ length: 5 }, () => ({ payload: {} })));
    const worker = await startWorker(queue, () => Promise.reject(new Error('no')));
    await worker.event('failed', 5);
    await worker.worker.stop();
    for (let i = 0; i < 2; i++) {
      await new Sweeper([queue], 1, logger).runOnce();
    }
    expect(lines).toEqual([
      `warn \`deadLetterCap\` deleted the oldest 3 dead letters of queue "${queue.name}" with their payloads. ` +
        'Redrive or discard dead letters, or raise `deadLetterCap`.',
    ]);
    const { failed, totals, droppedAt } = await queue.stats();
    expect({ failed, dropped: totals['dropped'] }).toEqual({ failed: 2, dropped: 3 });
    expect(droppedAt).toBeInstanceOf(Date);
  });
});

describe('equal failures in a burst', () => {
  it('are summed up: the first in full, the others as a count with their jobs', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const { lines, logger } = keptLog();
    const jobs = await queue.enqueueMany(Array.from({ length: 100 }, () => ({ payload: {} })));
    const worker = await startWorker(queue, () => Promise.reject(new Error('mail server away')), {
      logger,
      logFailures: true,
    });
    await worker.event('failed', 100);
    expect(lines).toHaveLength(1);
    await worker.worker.stop();
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(
      /^error 99 more dead letters of ".*" in queue ".*" within 10 s \(jobs .* and 89 more\)/,
    );
    expect(lines[1]).toMatch(/, the last with Error: mail server away$/);
    expect(jobs.filter(({ id }) => lines[1]!.includes(id))).toHaveLength(10);
  });

  it('name each job once, however often it failed', () => {
    const { lines, logger } = keptLog();
    const log = new FailureLog(SafeLogger.of(logger));
    for (let attempt = 1; attempt < 5; attempt++) {
      for (const id of ['a', 'b']) {
        log.attempt({ id, name: 'n', queue: 'q', attempt, maxAttempts: 5 }, { name: 'Error', message: 'no' }, 0);
      }
    }
    log.flush();
    expect(lines[1]).toBe(
      'warn 7 more failed attempts of "n" in queue "q" within 10 s (jobs b, a), the last with Error: no',
    );
  });

  it('are logged as they are where only one more came', () => {
    const { lines, logger } = keptLog();
    const log = new FailureLog(SafeLogger.of(logger));
    for (const id of ['a', 'b']) log.workerLost({ id, status: 'pending', worker: `w-${id}` }, 'q');
    log.flush();
    expect(lines).toEqual(
      ['a', 'b'].map((id) => `warn Job ${id} of queue "q" lost its worker w-${id} and is now pending.`),
    );
  });

  it('are equal where only a number, an id or a quoted text differs', () => {
    const { lines, logger } = keptLog();
    const log = new FailureLog(SafeLogger.of(logger));
    const job = { id: 'j', name: 'n', queue: 'q', attempt: 1, maxAttempts: 2 };
    for (let i = 0; i < 100; i++) log.attempt(job, { name: 'Error', message: `no user ${i} of "tenant-${i}"` }, 0);
    log.flush();
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^warn 99 more failed attempts .* the last with Error: no user 99 of "tenant-99"$/);
  });

  it('of other messages are distinguished, but for a flood of them', () => {
    const { lines, logger } = keptLog();
    const log = new FailureLog(SafeLogger.of(logger));
    const job = { id: 'j', name: 'n', queue: 'q', attempt: 1, maxAttempts: 2 };
    const messages = Array.from({ length: 1_000 }, (_, i) => `no ${'la'.repeat(i)}`);
    for (const message of messages) log.attempt(job, { name: 'Error', message }, 0);
    expect(lines).toHaveLength(51);
    log.flush();
    expect(lines).toHaveLength(52);
    expect(lines[51]).toMatch(/^warn 949 more failures of other kinds within 10 s/);
    log.flush();
    log.attempt(job, { name: 'Error', message: messages[0]! }, 0);
    expect(lines.at(-1)).toMatch(/failed in attempt 1 of 2/);
  });
});

it('logs an attempt that failed after its claim was lost, since nothing is stored of it', async () => {
  const { lines, logger } = keptLog();
  const queue = newQueue();
  const { id } = await queue.enqueue({});
  const handler = async () => {
    await inside(queue).connection.client.hset(
      (await inside(queue).scripts()).keys.job(id),
      'claim_token',
      'of another',
    );
    throw new Error('too late');
  };
  const worker = await startWorker(queue, handler, { logger, logFailures: true });
  await worker.event('lost');
  expect(lines[0]).toMatch(
    /^warn .*failed in attempt 1 of 3 after its claim was lost; nothing was stored: Error: too/,
  );
  await inside(queue).connection.client.hset((await inside(queue).scripts()).keys.job(id), 'claim_token', '');
  await queue.purge({ confirm: queue.name });
});

it('logs a job whose worker is gone: at warn while it is tried again, at error as a dead letter', async () => {
  const queue = newQueue({ maxCrashes: 2 });
  const { lines, logger } = keptLog();
  const { id } = await queue.enqueue({});
  const sweeper = new Sweeper([queue], 1_000, logger);
  const { keys } = await inside(queue).scripts();
  let worker: unknown;
  for (let i = 0; i < 2; i++) {
    await queue.claim();
    worker = (await queue.get(id))!.worker;
    await inside(queue).connection.client.zadd(keys.claims, 'XX', 1, id);
    await sweeper.runOnce();
  }
  expect(lines).toEqual([
    `warn Job ${id} of queue "${queue.name}" lost its worker ${String(worker)} and is now pending.`,
    `error Job ${id} of queue "${queue.name}" lost its worker ${String(worker)} and is now a dead letter.`,
  ]);
});

it.each([
  ['logger', { ...silentLogger, error: undefined }, /logger: expected a logger with log, warn and error/],
  ['logFailures', 'loud', /logFailures: expected true, false or \{ attempts, deadLetters \}/],
  ['logFailures', { attempts: 'loud' }, /logFailures\.attempts: expected 'log', 'warn', 'error' or 'off'/],
])('refuses a bad %s', async (option, value, message) => {
  await expect(startWorker(newQueue(), undefined, { [option]: value })).rejects.toThrow(message);
});
