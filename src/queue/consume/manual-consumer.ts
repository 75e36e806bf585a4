import { encodeContent } from '../codec/encode-content.js';
import { type Sealed, sealFailure } from '../codec/sealed.js';
import { ownKindOf } from '../errors/error-kind.js';
import { isNonRetryable, InvalidOptionError } from '../errors/errors.js';
import { type StoredError, serializeError } from '../errors/stored-error.js';
import { backoffDelay, OF_PATTERN } from '../model/backoff.js';
import type { ClaimRef, ClaimedJob, JobStatus } from '../model/job.js';
import { LARGEST_PAGE, YEAR_MS } from '../runtime/bounds.js';
import type { ExtendOutcome, FailOutcome, ReleaseOutcome } from '../store/call-outcomes.js';
import type { ConsumerWait, QueueAccess } from '../store/queue-store.js';
import { checkText } from '../validation/names.js';
import { checkCount, checkFlag, checkKnown, checkMs, checkObject } from '../validation/validate-options.js';
import { hostname } from 'node:os';
import { show } from '../errors/show.js';

/** Options of a claim by hand. */
export interface ClaimOptions {
  /** The time to wait for a job, in ms. @default 0 */
  timeoutMs?: number | undefined;
  /** The id of the claimer, for operators. @default `host:pid` */
  worker?: string | undefined;
}

/** The most entries that one call of a bounded script looks at. */
const SLICE = 500;

/** The claims that an app makes by itself, without a worker; see the methods of JobQueue. */
export class ManualConsumer {
  private wait: ConsumerWait | undefined;
  private readonly identity = `${hostname()}:${process.pid}`;
  private claims = 0;
  private closed = false;

  constructor(private readonly queue: QueueAccess) {}

  async claimMany(count: number, options: ClaimOptions): Promise<ClaimedJob[]> {
    checkKnown('claim', options, ['timeoutMs', 'worker']);
    const { timeoutMs = 0, worker = this.identity } = options;
    checkCount('count', count, 1, LARGEST_PAGE);
    checkMs('timeoutMs', timeoutMs, 0, Infinity);
    checkText('worker', worker);
    const { clock } = this.queue.store;
    const deadline = clock.now() + timeoutMs;
    for (;;) {
      const { jobs, nextDueInMs = Infinity, again } = await this.claimOnce(count, worker);
      const left = deadline - clock.now();
      if (jobs.length > 0 || ((left <= 0 || this.closed) && !again)) {
        return jobs;
      }
      if (!again) {
        this.wait ??= this.queue.store.consumerWait(await this.queue.calls());
        await this.wait.wait(Math.min(left, nextDueInMs));
        if (this.closed) {
          return [];
        }
      }
    }
  }

  private async claimOnce(count: number, worker: string) {
    // Several claims of one process may be in flight. Each has its own stream, so that none forgets another's batch.
    const stream = `${this.claims++ % 16}`;
    const token = this.queue.store.clock.randomId();
    const reply = await this.queue.exec((calls) => calls.claim({ count, token, worker, stream }));
    if (reply.refused.length > 0) {
      const failures = reply.refused.map((job) => this.sealed({ ...job, final: true, backoffMs: 0 }));
      await this.queue.exec((calls) => calls.fail(failures));
    }
    const { jobs, refused, nextDueInMs } = reply;
    return { jobs, nextDueInMs, again: jobs.length === 0 && refused.length > 0 };
  }

  async complete(job: ClaimRef & Partial<Pick<ClaimedJob, 'options'>>, result?: unknown): Promise<boolean> {
    const claim = claimOf(job);
    const { keepResult = true, resultTtlMs } = job.options ?? {};
    if (resultTtlMs !== undefined) {
      // The script must not meet it: Redis would refuse it when the rest is written already.
      checkCount('job.options.resultTtlMs', resultTtlMs, 1, YEAR_MS);
    }
    const json: Sealed | '' =
      result === undefined || !keepResult
        ? ''
        : encodeContent('result', result, this.queue.options, { queue: this.queue.name, id: job.id });
    const completion = { ...claim, result: json, resultTtlMs };
    const { lost, followed } = await this.queue.exec((calls) => calls.complete([completion]));
    if (followed.length === 0) {
      return lost.length === 0;
    }
    // Others came to wait for this plain job since its claim, so its end needs all keys.
    const again = await this.queue.exec((calls) => calls.complete([{ ...completion, plain: false }]));
    return again.lost.length === 0;
  }

  async fail(
    job: ClaimedJob,
    error: unknown,
    options: { final?: boolean | undefined; delayMs?: number | undefined },
  ): Promise<FailOutcome> {
    const claim = failedClaimOf(job);
    checkKnown('fail', options, ['final', 'delayMs']);
    checkFlag('final', options.final);
    checkMs('delayMs', options.delayMs ?? 0, 0, YEAR_MS);
    const { [OF_PATTERN]: ofPattern, backoff, errorKind } = this.queue.options;
    const backoffMs =
      options.delayMs ??
      backoffDelay(
        job.options.backoff ?? ofPattern.backoff ?? backoff,
        job.attempt,
        error,
        this.queue.store.clock.random(),
        job,
      );
    const failure = {
      ...claim,
      error: serializeError(error),
      ...ownKindOf(error, errorKind),
      final: options.final ?? isNonRetryable(error),
      backoffMs,
      begun: true,
    };
    const [outcome] = await this.queue.exec((calls) => calls.fail([this.sealed(failure)]));
    return outcome!;
  }

  private sealed<Failure extends { id: string; error: StoredError }>(failure: Failure) {
    return sealFailure(this.queue.options.codec, this.queue.name, failure);
  }

  async release(job: ClaimRef, options: { delayMs?: number | undefined }): Promise<ReleaseOutcome> {
    const claim = claimOf(job);
    checkKnown('release', options, ['delayMs']);
    const { delayMs = 0 } = options;
    checkMs('delayMs', delayMs, 0, YEAR_MS);
    const reason = delayMs > 0 ? 'snooze' : 'interruption';
    const [outcome] = await this.queue.exec((calls) => calls.release([{ ...claim, reason, delayMs }]));
    return outcome!;
  }

  async extend(job: ClaimRef, options: { visibilityMs?: number | undefined }): Promise<ExtendOutcome> {
    const claim = claimOf(job);
    checkKnown('extend', options, ['visibilityMs']);
    const { visibilityMs = this.queue.options.visibilityMs } = options;
    checkMs('visibilityMs', visibilityMs, 1, YEAR_MS);
    const { lost, cancelRequested } = await this.queue.exec((calls) => calls.extend([claim], visibilityMs));
    return lost.length > 0 ? 'lost' : cancelRequested.length > 0 ? 'cancel-requested' : 'extended';
  }

  async reclaim(options: {
    limit?: number | undefined;
  }): Promise<{ reclaimed: { id: string; status: JobStatus }[]; more: boolean }> {
    checkKnown('reclaim', options, ['limit']);
    const { limit = SLICE } = options;
    checkCount('limit', limit, 1, LARGEST_PAGE);
    const { reclaimed, more } = await this.queue.exec((calls) =>
      calls.sweep.reclaim({ limit, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }),
    );
    const foreign = (await this.queue.exec((calls) => calls.sweep.adoptForeign({ limit }))).reclaimed;
    const all = [...reclaimed, ...foreign].map(({ id, status }) => ({ id, status }));
    return { reclaimed: all, more: more || foreign.length === limit };
  }

  /** Ends waiting claims. */
  close(): void {
    this.closed = true;
    this.wait?.close();
  }
}

/**
 * Returns the fields of a claim that a settle needs.
 *
 * @throws InvalidOptionError
 */
function claimOf(job: ClaimRef): ClaimRef {
  checkObject('job', 'a claimed job', job);
  const { id, token, fence, plain } = job;
  checkText('job.id', id);
  if (typeof token !== 'string' || token === '') {
    throw new InvalidOptionError('job.token', 'the token of a claim', show(token));
  }
  checkCount('job.fence', fence, 0, Number.MAX_SAFE_INTEGER);
  // A caller's other value would reach the script.
  return { id, token, fence, ...((plain === true || plain === 'own' || plain === 'grouped') && { plain }) };
}

/** Returns the same of a claim whose attempt and options count too. */
function failedClaimOf(job: ClaimedJob): ClaimRef {
  const claim = claimOf(job);
  checkCount('job.attempt', job.attempt, 0, Number.MAX_SAFE_INTEGER);
  checkObject('job.options', 'the options of a claimed job', job.options);
  return claim;
}
