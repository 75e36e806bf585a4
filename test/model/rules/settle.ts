// Actions of a claim's holder: complete, fail, release, extend, progress, log. Only the current token changes a job. A
// repeated settle changes nothing and gets the first reply. It is recognised by the cleared token and its own fence.
// After another claim of the job, the record of attempts tells its outcome.
import { endCancelled, endCompleted, bury } from './ends.js';
import type { ModelJob } from './job.js';
import { toBack, toFront, toLater } from './places.js';
import { LIMITS, type QueueModel, type Ticket } from './queue-model.js';

/** Returns the job if the ticket's claim is current. An expired claim stays current until it is reclaimed. */
function claimed(model: QueueModel, ticket: Ticket): ModelJob | undefined {
  const job = model.jobs.get(ticket.id);
  return job?.token === ticket.token ? job : undefined;
}

function settledBy(model: QueueModel, ticket: Ticket): ModelJob | undefined {
  const job = model.jobs.get(ticket.id);
  return job?.token === '' && job.fence === ticket.fence ? job : undefined;
}

/** Returns the recorded end of this claim. */
function outcomeOf(model: QueueModel, ticket: Ticket): string | undefined {
  return model.jobs.get(ticket.id)?.outcomes.find(({ fence }) => fence === ticket.fence)?.outcome;
}

/** Completes a job, even with a cancel request, because a good result wins. */
export function complete(model: QueueModel, ticket: Ticket, result: unknown): boolean {
  const job = claimed(model, ticket);
  if (job) {
    endCompleted(model, job, result);
    return true;
  }
  return settledBy(model, ticket)?.status === 'completed';
}

export type FailSays = 'retry' | 'failed' | 'cancelled' | 'lost';

export function fail(
  model: QueueModel,
  ticket: Ticket,
  message: string,
  { final = false, delayMs = ticket.backoffMs ?? 0 }: { final?: boolean; delayMs?: number },
): FailSays {
  const job = claimed(model, ticket);
  if (job) {
    return failed(model, job, message, { final, backoffMs: delayMs });
  }
  const first = settledBy(model, ticket)?.status ?? (outcomeOf(model, ticket) === 'error' ? 'pending' : undefined);
  switch (first) {
    case 'pending':
    case 'scheduled':
      return 'retry';
    case 'failed':
    case 'cancelled':
      return first;
    default:
      return 'lost';
  }
}

/** Fails an attempt. The number of attempts decides, unless the error is final or the job has a cancel request. */
export function failed(
  model: QueueModel,
  job: ModelJob,
  message: string,
  { final, backoffMs }: { final: boolean; backoffMs: number },
): 'retry' | 'failed' | 'cancelled' {
  job.token = '';
  job.errors += 1;
  job.lastError = message;
  logAttempt(job, 'error');
  if (job.cancelRequested) {
    endCancelled(model, job);
    return 'cancelled';
  }
  if (final || job.attempts >= (job.maxAttempts ?? LIMITS.maxAttempts)) {
    bury(model, job, message);
    return 'failed';
  }
  if (backoffMs > 0) {
    toLater(job, model.now + backoffMs);
  } else {
    toBack(model, job);
    job.readyAt = model.now;
  }
  model.count('retried');
  return 'retry';
}

export type ReleaseSays = 'released' | 'cancelled' | 'failed' | 'lost';

/** Gives the job back, and the attempt with it. */
export function release(model: QueueModel, ticket: Ticket, delayMs: number): ReleaseSays {
  const job = claimed(model, ticket);
  if (!job) {
    const again = ['interruption', 'snooze'].includes(outcomeOf(model, ticket) ?? '');
    const first = settledBy(model, ticket)?.status ?? (again ? 'pending' : undefined);
    switch (first) {
      case 'pending':
      case 'scheduled':
        return 'released';
      case 'cancelled':
      case 'failed': // a rest too many fails a job, so a release may say so
        return first;
      default:
        return 'lost';
    }
  }
  job.token = '';
  logAttempt(job, delayMs > 0 ? 'snooze' : 'interruption');
  job.attempts -= 1;
  job.interruptions += delayMs > 0 ? 0 : 1;
  job.snoozes += delayMs > 0 ? 1 : 0;
  if (job.cancelRequested) {
    endCancelled(model, job);
    return 'cancelled';
  }
  if (delayMs > 0) {
    toLater(job, model.now + delayMs);
  } else {
    toFront(model, job);
  }
  model.count('released');
  return 'released';
}

export function extend(
  model: QueueModel,
  ticket: Ticket,
  visibilityMs: number,
): 'extended' | 'cancel-requested' | 'lost' {
  const job = claimed(model, ticket);
  if (!job) {
    return 'lost';
  }
  job.claimExpiresAt = model.now + visibilityMs;
  return job.cancelRequested ? 'cancel-requested' : 'extended';
}

export function progress(model: QueueModel, ticket: Ticket, value: unknown): boolean {
  const job = claimed(model, ticket);
  if (job) {
    job.progress = value;
  }
  return job !== undefined;
}

/** Adds lines to the log, and keeps the newest `keep` lines. */
export function log(model: QueueModel, ticket: Ticket, keep: number, lines: readonly string[]): boolean {
  const job = claimed(model, ticket);
  if (job) {
    job.log = [...job.log, ...lines].slice(-keep);
  }
  return job !== undefined;
}

/** Drops the oldest of more than 20 records, releases first. */
export function logAttempt(job: ModelJob, outcome: string): void {
  if (job.outcomes.length === 20) {
    const givenBack = job.outcomes.findIndex((each) =>
      ['snooze', 'interruption', 'unhandled'].includes(each.outcome),
    );
    job.outcomes.splice(Math.max(0, givenBack), 1);
  }
  job.outcomes.push({ fence: job.fence!, outcome });
}
