import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { z } from 'zod';
import type { Logged } from '../actions/action-log.js';
import { inWords, onQueue } from '../actions/noted-action.js';
import { InvalidOptionError, ProfileError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { ProfileOptions, ProfileRecord } from '../model/profile.js';
import type { QueueAccess } from '../store/queue-store.js';
import { checkJobName } from '../validation/names.js';
import { wholeNumber } from '../validation/numbers.js';
import { checkOptions } from '../validation/validate-options.js';

const unzip = promisify(gunzip);

/** The most bytes of a profile that is unpacked. Anybody may have written it. */
const MOST_UNPACKED_BYTES = 268_435_456;

/** The most workers that are asked whether they allow a profile. */
const MOST_WORKERS = 1_000;

const optionsSchema = z.strictObject(
  {
    name: z.string({ error: 'expected the name of a job' }).optional(),
    kind: z.enum(['cpu', 'heap'], { error: "expected 'cpu' or 'heap'" }).default('cpu'),
    forMs: wholeNumber(100, 300_000).default(30_000),
  },
  { error: 'expected an object with name, kind, forMs' },
);

/** The profile of a queue: what V8 measures while the next attempt of a job runs. A queue has one at a time. */
export class Profiles {
  /** @internal */
  constructor(private readonly queue: QueueAccess & Logged) {}

  /**
   * Asks for a profile of the next attempt. Workers learn of it within 20 s. The request waits ten minutes for an attempt.
   *
   * @throws InvalidOptionError; ProfileError if another request is open, or no worker could take it or allows it
   * @example await queue.profiles.request({ name: 'invoice', forMs: 10_000 });
   */
  async request(options: ProfileOptions = {}): Promise<ProfileRecord> {
    const { name: given, kind, forMs } = checkOptions('profile', optionsSchema, options);
    if (given !== undefined) checkJobName(given);
    const name = given ?? '';
    const id = this.queue.store.clock.randomId();
    const ask = async () => {
      const workers = await this.queue.exec((calls) => calls.workers.list({ most: MOST_WORKERS }));
      const isForbidden = workers.length > 0 && workers.every(({ unprofiled }) => unprofiled);
      const outcome = isForbidden
        ? 'forbidden'
        : await this.queue.exec((calls) => calls.profiles.request({ id, name, kind, forMs }));
      if (outcome !== 'asked') {
        throw new ProfileError(this.queue.name, outcome, refusals[outcome](show(name)));
      }
    };
    await this.queue.actionLog.record(onQueue('profile', inWords({ name: given, kind })), ask, { isRefusal });
    return {
      id,
      state: 'asked',
      ...(given !== undefined && { name: given }),
      kind,
      forMs,
      askedAt: new Date(),
      bytes: 0,
    };
  }

  /** Returns the last profile and how far it is, without its content; null if there is none. */
  async get(): Promise<ProfileRecord | null> {
    return this.queue.exec((calls) => calls.profiles.read());
  }

  /**
   * Returns the last profile as JSON, for a file `.cpuprofile` or `.heapprofile`. It is kept for an hour.
   *
   * @throws ProfileError if there is none, or not yet
   */
  async download(): Promise<{ record: ProfileRecord; json: string }> {
    const found = await this.queue.exec((calls) => calls.profiles.download());
    const { name } = this.queue;
    if (found === null) {
      throw new ProfileError(name, 'absent', 'none was asked for, or it is gone. One is kept for an hour.');
    }
    const { record, content } = found;
    if (record.state === 'failed') {
      throw new ProfileError(name, 'failed', record.reason ?? 'the worker gave no reason.');
    }
    if (record.state !== 'done') {
      throw new ProfileError(name, 'absent', 'it is not measured yet. Ask again later.');
    }
    const unpacked = await unzip(Buffer.from(content, 'base64'), { maxOutputLength: MOST_UNPACKED_BYTES });
    return { record, json: unpacked.toString() };
  }
}

/** Returns whether an error means that nothing was asked for. */
function isRefusal(error: unknown): boolean {
  return error instanceof ProfileError || error instanceof InvalidOptionError;
}

const refusals = {
  forbidden: () => 'its workers forbid it. Set the option `profiles` of one to true.',
  busy: () => 'another request is open. It ends with its profile, or after ten minutes without a job.',
  unserved: () => 'no worker serves the queue. Start one, then ask again.',
  unhandled: (name: string) =>
    `no worker handles jobs named ${name}. Correct the name, or leave it out for any job.`,
};
