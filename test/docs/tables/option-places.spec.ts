// The table in docs/jobs.md of the places of an option: it is accepted there, and unknown everywhere else.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { FollowUp } from '#queue/batches/batch-options.js';
import { defineJob, type JobDefaults } from '#queue/enqueue/define-job.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { JOB_OPTIONS, type JobOptionAt } from '#queue/model/job-options.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { ScheduleOptions } from '#queue/schedules/schedule.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { HandlerOptions } from '#worker/handlers/handler.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { connect } from '../../support/redis/redis.js';
import { tableOf } from '../table.js';

const VALUES: Record<string, unknown> = {
  maxAttempts: 2,
  maxCrashes: 2,
  maxRateLimitRetries: 2,
  maxSnoozes: 2,
  resultTtlMs: 1_000,
  backoff: 5,
  timeoutMs: 1_000,
  timeoutGraceMs: 1_000,
  slots: 2,
  keepResult: true,
  completedHistory: 5,
  rememberedIds: 5,
  cancelledHistory: 5,
  deadLetterCap: 5,
  deadLetterAgeMs: 1_000,
  cancelledTtlMs: 1_000,
  priority: 1,
  expiresInMs: 1_000,
  id: 'a',
  delayMs: 5,
  runAt: new Date(),
  after: [],
  unique: { key: 'k', for: 'pending' },
  durability: 'memory',
  group: 'tenant',
  metadata: { traceId: '1' },
  lifo: true,
  cost: 2,
  limitCosts: { openai: 2 },
};

/** Sets options at a place. */
const PLACES: Record<string, (options: object) => unknown> = {
  enqueue: (options) => coreQueue().queue.enqueue(1, options),
  definition: (options) => defineJob('a', { payload: z.unknown(), ...options }),
  handler: (options) => defineHandler(defineJob('a', { payload: z.unknown() }), () => 1, options),
  queue: (options) => new JobQueue(connect(), 'a', options),
};

async function refused(place: string, options: object): Promise<InvalidOptionError | undefined> {
  try {
    await PLACES[place]!(options);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOptionError);
    return error as InvalidOptionError;
  }
}

const cells = tableOf('option places', 'docs/jobs.md').flatMap(([names, place, said]) =>
  [...names.matchAll(/`(\w+)`/g)].map(([, option]) => [option!, place, said] as const),
);

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;

/** Does not compile unless the types of each place have the options that the table of options names. */
const TYPES_FOLLOW_THE_TABLE: [
  Same<keyof EnqueueOptions, JobOptionAt<'enqueue'>>,
  Same<keyof JobDefaults, JobOptionAt<'definition'> | 'queue' | 'limits'>,
  Same<keyof HandlerOptions, JobOptionAt<'handler'>>,
  Same<keyof QueueOptions & keyof typeof JOB_OPTIONS, JobOptionAt<'queue'>>,
  Same<keyof FollowUp, JobOptionAt<'follow-up'> | 'payload' | 'definition' | 'queue'>,
  Same<
    keyof ScheduleOptions,
    JobOptionAt<'schedule'> | 'payload' | 'onMissed' | 'missedAfterMs' | 'overlap' | 'definition'
  >,
] = [true, true, true, true, true, true];

it('the types of each place have the options of the table', () => {
  expect(TYPES_FOLLOW_THE_TABLE).not.toContain(false);
});

describe('docs/jobs.md says of', () => {
  it.each(cells)('%s in the %s: "%s"', async (option, place, said) => {
    const error = await refused(place, { [option]: VALUES[option] });
    expect(error?.expected).toBe(said === '' ? 'a known option' : undefined);
    const wrong = { 'no function': () => 5, 'no range': { most: 5 } }[said];
    if (wrong !== undefined) {
      expect((await refused(place, { [option]: wrong }))?.subject).toContain(option);
    }
  });

  it('each option of a job but its name', () => {
    const { name: _name, batch: _batch, stopsBatch: _stopsBatch, addedBy: _addedBy, ...options } = JOB_OPTIONS;
    expect(cells.map(([option]) => option)).toEqual(expect.arrayContaining(Object.keys(options)));
  });

  it('each option with a value here', () => {
    expect([...new Set(cells.map(([option]) => option))].toSorted()).toEqual(Object.keys(VALUES).toSorted());
  });
});
