import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { JobQueue } from '../../queue/job-queue.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import { MOST_PROFILE_BYTES, PROFILE_GRACE_MS, type ProfileRequest } from '../../queue/model/profile.js';
import { within } from '../../queue/runtime/waits.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { withMiddleware } from '../handlers/attempt-middleware.js';
import type { Handler } from '../handlers/handler.js';
import type { Job } from '../handlers/job.js';
import { Measurement } from '../handlers/measurement.js';

const zip = promisify(gzip);

/** The time for which a job waits until Redis has given it the request, in ms. */
const TAKE_MS = 1_000;

/** True while an attempt of this process is measured. */
let isMeasuring = false;

/** The runner of the attempts, one of which is measured. */
interface ProfiledRunner {
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
  readonly host: { readonly warn: (message: string) => void };
  askForProfile(asked: AskedProfile | undefined): void;
}

/** A request for a profile, until an attempt of this worker tries to take it. */
export class AskedProfile {
  constructor(
    private readonly request: ProfileRequest,
    private readonly worker: string,
    private readonly runner: ProfiledRunner,
  ) {}

  /** Returns the handler, and measures its call if the attempt is one to measure and gets the request. */
  around(handler: Handler, { name }: ClaimedJob): Handler {
    if (isMeasuring || (this.request.name !== '' && this.request.name !== name)) {
      return handler;
    }
    isMeasuring = true;
    this.runner.askForProfile(undefined); // one attempt asks
    const measured = { attempt: (job: Job, next: () => Promise<unknown>) => this.attempt(job, next) };
    return { ...handler, handle: withMiddleware([measured], (job) => handler.handle(job)) };
  }

  private async attempt(job: Job, next: () => Promise<unknown>): Promise<unknown> {
    try {
      if (await this.isTaken(job)) {
        job.measureBy(await Measurement.begin(this.request).catch((cause: Error) => this.refuse(cause)));
      }
      void this.keep(job.measurement);
      return await next();
    } finally {
      job.measurement?.end();
    }
  }

  /** Returns whether the attempt gets the request. Without an answer in time the job runs, and the request ends by itself. */
  private async isTaken({ id, attempt }: Job): Promise<boolean> {
    const { request, worker, runner } = this;
    const { store } = runner.queue;
    const mostMs = request.forMs + PROFILE_GRACE_MS;
    const take = runner.calls.profiles.take({ id: request.id, worker, job: id, attempt, mostMs });
    return within(store.clock, TAKE_MS, store.exec(take), () => false).catch(() => false);
  }

  /** Stores the profile once the measurement has ended. */
  private async keep(measurement: Measurement | undefined): Promise<void> {
    try {
      const { json, cause } = await endOf(measurement);
      if (cause) {
        await this.refuse(cause);
      } else if (json !== undefined) {
        const content = (await zip(json)).toString('base64');
        const isLarge = content.length > MOST_PROFILE_BYTES;
        await this.store(
          isLarge
            ? {
                reason: `It has ${content.length} bytes as stored, at most ${MOST_PROFILE_BYTES} are kept. Measure for a shorter time.`,
              }
            : { content },
        );
      } else if (measurement) {
        await this.store({ reason: 'The thread of the job sent no profile.' });
      }
    } catch (error) {
      this.warn(error as Error);
    } finally {
      isMeasuring = false;
    }
  }

  private async refuse({ message }: Error): Promise<undefined> {
    try {
      await this.store({ reason: `This Node cannot measure: ${message}` });
    } catch (fault) {
      this.warn(fault as Error);
    }
  }

  private async store(what: { content?: string; reason?: string }): Promise<void> {
    const { request, worker, runner } = this;
    await runner.queue.store.exec(runner.calls.profiles.store({ id: request.id, worker, ...what }));
  }

  private warn({ message }: Error): void {
    this.runner.host.warn(`Could not store the profile of queue "${this.runner.queue.name}": ${message}`);
  }
}

/** Returns the profile, or why Node could not give it. */
function endOf(measurement: Measurement | undefined): Promise<{ json?: string | undefined; cause?: Error }> {
  const ended = measurement?.ended ?? Promise.resolve(undefined);
  return ended.then(
    (json) => ({ json }),
    (cause: Error) => ({ cause }),
  );
}
