import { InvalidOptionError } from '../model/errors.js';
import type { JobRecord } from '../model/job.js';
import { randomId } from '../model/random-id.js';
import { show } from '../model/names.js';
import type { CancelAnswer, QueueCalls } from '../store/queue-calls.js';
import type { Connection } from '../redis/connection.js';
import type { ScriptCall } from '../redis/script-runner.js';
import { CancelNotices } from './cancel-notices.js';

/** How many calls without an answer are remembered, the newest. */
const MOST_UNANSWERED = 1_000;

/** The queue whose jobs are cancelled. */
interface CancelledQueue {
  readonly connection: Connection;
  scripts(): Promise<QueueCalls>;
  run<Answer>(call: ScriptCall<Answer>): Promise<Answer>;
}

/** Cancels jobs of one queue, and tells its listeners of those that waited, once each. */
export class Canceller {
  private readonly listeners = new Set<(job: JobRecord) => void>();
  /** By job the request of a call that had no answer, so that its repeat is known to have been the one that cancelled. */
  private readonly unanswered = new Map<string, string>();

  constructor(private readonly queue: CancelledQueue) {}

  async cancel(id: string): Promise<CancelAnswer> {
    const scripts = await this.queue.scripts();
    const answer = await this.cancelBy(scripts, id);
    if (answer === 'requested') {
      CancelNotices.of(this.queue.connection).tell(scripts.keys.jobPrefix, id);
    }
    return answer;
  }

  private async cancelBy(scripts: QueueCalls, id: string): Promise<CancelAnswer> {
    if (this.listeners.size === 0) {
      return this.queue.run(scripts.cancel(id));
    }
    const repeated = this.unanswered.get(id);
    const request = repeated ?? randomId();
    try {
      const { answer, cancelled } = await this.queue.run(scripts.cancelAndTell(id, request));
      // Repeats at the same time each get the job; the first to be answered tells of it.
      const first = repeated === undefined || this.forget(id, repeated);
      if (cancelled && first) {
        this.listeners.forEach((listener) => listener(cancelled));
      }
      return answer;
    } catch (error) {
      if (repeated === undefined) {
        this.remember(id, request);
      }
      throw error;
    }
  }

  /** Answers the way to end that. @throws InvalidOptionError */
  listen(listener: (job: JobRecord) => void): () => void {
    if (typeof listener !== 'function') {
      throw new InvalidOptionError('onCancelled', 'a function', show(listener));
    }
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The first of calls at the same time stays, since a repeat of it may be under way. */
  private remember(id: string, request: string): void {
    if (!this.unanswered.has(id)) {
      this.unanswered.set(id, request);
    }
    if (this.unanswered.size > MOST_UNANSWERED) {
      this.unanswered.delete(this.unanswered.keys().next().value!);
    }
  }

  /** Answers whether it was there. */
  private forget(id: string, request: string): boolean {
    return this.unanswered.get(id) === request && this.unanswered.delete(id);
  }
}
