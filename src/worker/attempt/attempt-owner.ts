import type { ContentRules } from '../../queue/codec/codec.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import type { Clock } from '../../queue/runtime/clock.js';
import type { Release, UnsealedFailure } from '../../queue/store/attempt-forms.js';
import type { JobReporter } from '../handlers/job.js';
import type { AskedProfile } from './asked-profile.js';
import type { Outages } from './outages.js';

/** The runner of an attempt. */
export interface AttemptOwner<Attempt> {
  readonly reports: JobReporter;
  /** Takes the end of the attempt, at most once. */
  readonly settlements: {
    complete(attempt: Attempt): void;
    fail(attempt: Attempt, failure: UnsealedFailure): void;
    release(attempt: Attempt, release: Release): void;
  };
  /** The options of the queue. An option of the handler overrides them. */
  readonly content: ContentRules &
    Pick<ResolvedQueueOptions, 'limits' | 'rates' | 'maxRateLimitRetries' | 'maxSnoozes' | 'errorKind'>;
  /** Rests a limit of the queue; with a key only that of this group. */
  restLimit(limit: string, ms: number, group: string | undefined): void;
  /** A request for a profile that the next attempt tries to take; undefined without one. */
  readonly askedProfile?: AskedProfile | undefined;
  readonly clock: Clock;
  readonly outages: Outages;
  readonly host: { readonly warn: (message: string) => void };
  /** Called once, when the handler has really ended, or will not be called. @param hadSlot whether it leaves a free slot */
  handlerEnded(attempt: Attempt, hadSlot: boolean): void;
  /** Called when the end is decided before the attempt has a slot. */
  endedInLine(attempt: Attempt): void;
  /** Called when the handler continues although its signal was aborted. */
  reportStuck(attempt: Attempt): void;
}
