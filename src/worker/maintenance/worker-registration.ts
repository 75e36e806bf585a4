import { hostname } from 'node:os';
import type { WorkerDetails } from '../../queue/model/worker-record.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import { limitOf } from '../../queue/runtime/bounds.js';
import { QueueLayoutError } from '../../queue/errors/layout-error.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';

const INTERVAL_MS = 10_000;
/** The interval at which a worker repeats unchanged details, in ms, because a server may have lost them. */
const DESCRIBED_MS = 55_000;
/** The most stuck jobs that a worker names. */
const MOST_STUCK = 20;

/**
 * Announces the queues of this worker, and the limits of each queue and its handlers. Operators read "12 waiting, no
 * worker" from it, and sweeps use the limits. It repeats the announcement, so a purge may let it expire.
 */
export class WorkerRegistration {
  private timer: Timer | undefined;
  private ended = false;
  private announcing: Promise<void> | undefined;
  private withdrawing: Promise<void> | undefined;
  private refusal: QueueLayoutError | undefined;
  private readonly startedAtMs: number;
  /** The last announced details of this worker for each queue, and their time. */
  private readonly described = new Map<QueueRunner, { text: string; atMs: number }>();

  constructor(
    private readonly worker: string,
    private readonly runners: readonly QueueRunner[],
    private readonly clock: Clock,
    private readonly logger: JobQueueLogger,
    private readonly app: { version: string; concurrency?: number },
  ) {
    this.startedAtMs = clock.monotonic();
  }

  /**
   * Announces the worker, and resolves with the server's reply. The server must know the handlers' limits before the
   * first claim. A stop in between revokes the announcement.
   *
   * @throws QueueLayoutError if a newer version of the library has written one of the queues; all announcements are
   * revoked
   */
  async start(): Promise<void> {
    if (this.ended) {
      return;
    }
    await this.runOnce();
    if (this.ended || this.refusal) {
      this.ended = true;
      await this.withdraw();
    }
    if (this.refusal) {
      throw this.refusal;
    }
    if (this.ended) {
      return;
    }
    this.timer = this.clock.setInterval(() => void this.runOnce(), INTERVAL_MS);
  }

  /** Announces the worker once. While a call is in flight, waits for that call. */
  runOnce(): Promise<void> {
    this.announcing ??= this.announce(true).finally(() => {
      this.announcing = undefined;
    });
    return this.announcing;
  }

  /** Takes the announcement back. */
  async stop(): Promise<void> {
    this.abandon();
    await this.withdraw();
  }

  /** Ends without telling the server, which forgets a silent worker itself. */
  abandon(): void {
    this.ended = true;
    this.clock.clear(this.timer);
  }

  /** Waits for an announcement in flight first: sent again by its text, it could arrive after the withdrawal. */
  private withdraw(): Promise<void> {
    this.withdrawing ??= Promise.resolve(this.announcing).then(() => this.announce(false));
    return this.withdrawing;
  }

  private async announce(serves: boolean): Promise<void> {
    await Promise.all(
      this.runners.map(async (runner) => {
        const { store } = runner.queue;
        try {
          const call = runner.calls.workers.register(this.worker, serves, serves ? runner.limits : []);
          await store.exec(call, limitOf(INTERVAL_MS));
          await this.describe(runner, serves);
        } catch (error) {
          this.report(runner, serves, error as Error);
        }
      }),
    );
  }

  /** Announces the details of this worker to operators, when they change and once a minute. */
  private async describe(runner: QueueRunner, serves: boolean): Promise<void> {
    const details = serves ? this.detailsOf(runner) : undefined;
    const text = JSON.stringify(details ?? null);
    const last = this.described.get(runner);
    const nowMs = this.clock.monotonic();
    if (last?.text === text && nowMs - last.atMs < DESCRIBED_MS) {
      return;
    }
    const call = runner.calls.workers.describe(this.worker, details, nowMs - this.startedAtMs);
    await runner.queue.store.exec(call, limitOf(INTERVAL_MS));
    this.described.set(runner, { text, atMs: nowMs });
  }

  private detailsOf(runner: QueueRunner): WorkerDetails {
    const { version, concurrency } = this.app;
    const stuck = [...runner.attempts].flatMap((attempt) => attempt.stuck ?? []).slice(0, MOST_STUCK);
    return {
      host: hostname(),
      pid: process.pid,
      ...(version !== '' && { version }),
      slots: runner.capacity.concurrency,
      ...(concurrency !== undefined && { processSlots: concurrency }),
      ...(runner.isClosed && { paused: true as const }),
      ...(stuck.length > 0 && { stuck: stuck.map(({ id, name }) => ({ id, name })) }),
    };
  }

  /** Reports an error. A newer version that starts while this worker runs is logged; the next boot refuses. */
  private report(runner: QueueRunner, serves: boolean, error: Error): void {
    const said = `Announcing this worker to queue "${runner.name}" failed: ${error.message}`;
    if (!(error instanceof QueueLayoutError)) {
      this.logger.warn(said);
    } else if (serves) {
      this.refusal = error;
      if (this.timer) this.logger.error(said);
    }
  }
}
