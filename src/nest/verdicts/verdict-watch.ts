import {
  type AlertKind,
  alertsOf,
  newKinds,
  outboxAlertOf,
  parseRecord,
  type AlertRecord,
  type AlertStep,
  type VerdictNotice,
} from '../../inspect/alerts/alerts.js';
import type { QueueVerdict } from '../../inspect/queue-signs.js';
import { readOutboxVerdict } from '../../inspect/servers/outbox-verdict.js';
import { readSigns } from '../../inspect/signs.js';
import { unreadable } from '../../inspect/unreadable.js';
import { verdictOf } from '../../inspect/verdict.js';
import { lastCause, lastErrorWords } from '../../queue/dead-letters/error-kinds.js';
import { nameOfCode } from '../../queue/errors/describe-error.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ShownContent } from '../../queue/store/shown-content.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { systemClock, type Timer } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { within } from '../../queue/runtime/within.js';
import { FaultLog } from '../../worker/reports/fault-log.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { ResolvedModuleOptions } from '../options/job-queue.options.js';
import { CausesOfFleet } from './causes-of-fleet.js';

/** The time between two looks of a process, in ms. */
const EVERY_MS = 15_000;
/** The least time between two looks of the fleet at a queue, in ms. It is below that of a process, so none is skipped. */
const FLEET_EVERY_MS = 12_000;
/** The longest time that telling a notice may take, in ms. Then the next look tells it again. */
const LONGEST_TELLING_MS = 10_000;

/** The longest time that the database of the outbox may take, in ms. */
const OUTBOX_MS = 5_000;
/** The queue whose record of alerts has those of the outbox. It has no jobs. */
const OUTBOX_RECORD = '@outbox';

/** The parts of a connection that its watch needs. */
export interface VerdictWatchParts {
  readonly options: Pick<ResolvedModuleOptions, 'onVerdict'>;
  readonly queues: QueueRegistry;
  readonly logger: JobQueueLogger;
}

/**
 * Tells the app what changes in the verdicts on its queues. In each interval one process of the fleet looks at a queue.
 * Redis keeps what it has told. So a restart does not repeat it.
 */
export class VerdictWatch implements BackgroundRole {
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private stopped = false;
  private readonly faults: FaultLog;
  private readonly causes: CausesOfFleet;

  constructor(
    private readonly parts: VerdictWatchParts,
    private readonly fleetEveryMs: number = FLEET_EVERY_MS,
  ) {
    this.faults = new FaultLog(parts.logger);
    this.causes = new CausesOfFleet(parts.queues, shownKinds);
  }

  start(): void {
    if (this.parts.options.onVerdict && !this.timer) {
      const { clock } = this.parts.queues.redis.store;
      this.timer = clock.setInterval(() => void this.runOnce(), EVERY_MS);
      this.timer.unref();
    }
  }

  /** Ends after the look in progress, at most after this many ms: a listener may take long. */
  async stop(timeoutMs: number = LONGEST_TELLING_MS): Promise<void> {
    this.stopped = true;
    this.parts.queues.redis.store.clock.clear(this.timer);
    await (this.running && within(systemClock, timeoutMs, this.running, () => undefined));
  }

  /** Looks at all queues, or returns the look in progress. Does nothing while Redis is away. */
  runOnce(): Promise<void> {
    this.running ??= this.lookAtAll().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async lookAtAll(): Promise<void> {
    for (const queue of this.parts.queues.all.slice()) {
      await this.tried(`queue "${queue.name}"`, () => this.look(queue));
    }
    if (this.parts.queues.outbox?.signs) {
      await this.tried('the outbox', () => this.lookAtOutbox());
    }
  }

  private async tried(what: string, look: () => Promise<void>): Promise<void> {
    if (this.stopped || !this.parts.queues.redis.ready) {
      return;
    }
    try {
      await look();
      this.faults.succeeded(what);
    } catch (error) {
      this.faults.failed(what, `Could not tell the verdict on ${what}; the next look tries again`, error);
    }
  }

  /** Looks at the outbox. Only processes that may read it take the turn, so none keeps another from telling. */
  private async lookAtOutbox(): Promise<void> {
    const { queues } = this.parts;
    const verdict = await readOutboxVerdict(queues.outbox, OUTBOX_MS);
    if (verdict) {
      await this.inTurn(queues.reference(OUTBOX_RECORD), (told, nowMs) => [outboxAlertOf(told, nowMs, verdict)]);
    }
  }

  private look(queue: JobQueue): Promise<void> {
    return this.inTurn(queue, async (told, nowMs) => {
      const verdict = await verdictOn(queue);
      const kinds = verdict.state === 'unreadable' ? [] : await shownKinds(queue);
      const fresh = newKinds(told, { nowMs, kinds });
      const causes = fresh.length > 0 ? await this.causes.turnsOf(queue, fresh, nowMs) : undefined;
      return alertsOf(told, { nowMs, verdict, kinds, ...(causes && { causes }) });
    });
  }

  /** Takes the turn of the fleet for a record, if it is due, and tells what is to tell. */
  private async inTurn(
    queue: JobQueue,
    alertsAfter: (told: AlertRecord, nowMs: number) => AlertStep[] | Promise<AlertStep[]>,
  ): Promise<void> {
    const token = queue.store.clock.randomId();
    const turn = await queue.exec(({ alerts }) => alerts.takeTurn({ token, everyMs: this.fleetEveryMs }));
    if (!turn) {
      return;
    }
    let kept = turn.record;
    for (const { notice, record, causes } of await alertsAfter(parseRecord(kept), turn.nowMs)) {
      const after = JSON.stringify(record);
      if (notice) {
        await this.tell(notice);
      }
      if (causes) {
        await this.causes.told(causes);
      }
      if (after !== kept && !(await queue.exec(({ alerts }) => alerts.told({ token, record: after })))) {
        return; // another process looks now
      }
      kept = after;
    }
  }

  /** @throws the error of the listener, or that it took too long */
  private async tell(notice: VerdictNotice): Promise<void> {
    const { clock } = this.parts.queues.redis.store;
    const tooLong = () => {
      throw new Error(`onVerdict did not end within ${LONGEST_TELLING_MS} ms`);
    };
    await within(clock, LONGEST_TELLING_MS, Promise.resolve(this.parts.options.onVerdict?.(notice)), tooLong);
  }
}

/**
 * Returns the kinds of error with words that may leave the app. Of an encrypted queue they have no message, because a
 * notice goes to services of others.
 */
async function shownKinds(queue: JobQueue, lastMs?: number): Promise<AlertKind[]> {
  const [kinds, content] = await Promise.all([queue.deadLetters.kinds({ lastMs }), ShownContent.of(queue)]);
  return kinds.map(({ sample, error, ...kind }) => {
    if (!sample) {
      return { ...kind, ...(error !== undefined && { error }) };
    }
    const record = content.record(sample);
    const { attemptLog } = record;
    const { name = 'Error' } = attemptLog.findLast((attempt) => attempt.error !== null)?.error ?? {};
    if (content.isSecret) {
      return { ...kind, error: `${nameOfCode(name)}, whose message is encrypted` };
    }
    const words = lastErrorWords(record);
    return { ...kind, ...(words !== undefined && { error: words }), cause: lastCause(record) };
  });
}

async function verdictOn(queue: JobQueue): Promise<QueueVerdict> {
  try {
    return verdictOf(await readSigns(queue));
  } catch (error) {
    return unreadable(queue.name, error);
  }
}
