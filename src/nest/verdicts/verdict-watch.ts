import {
  type AlertKind,
  alertsOf,
  newKinds,
  outboxAlertOf,
  parseRecord,
  type AlertRecord,
  type AlertStep,
  type VerdictNotice,
} from '../../inspect/alerts.js';
import type { QueueVerdict } from '../../inspect/queue-signs.js';
import { readOutboxVerdict } from '../../inspect/outbox-verdict.js';
import { readSigns } from '../../inspect/signs.js';
import { joinKinds, joinVerdicts, type KnownQueue } from '../../inspect/join-shards.js';
import { inTime, unreadable, unreadableByAny } from '../../inspect/unreadable.js';
import { verdictOf } from '../../inspect/verdict.js';
import { lastCause, lastErrorWords } from '../../queue/dead-letters/error-kinds.js';
import { nameOfCode } from '../../queue/errors/stored-error.js';
import { within } from '../../queue/runtime/waits.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ShownContent } from '../../queue/store/shown-content.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { systemClock, type Timer } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { FaultLog } from '../../worker/reports/failure-log.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { SpreadQueue } from '../../spread/spread-queue.js';
import type { ResolvedModuleOptions } from '../options/job-queue.options.js';
import { CausesOfFleet } from './causes-of-fleet.js';
import { type AlertTurn, takeTurnOfShards } from './shard-turn.js';

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
    const { queues } = this.parts;
    for (const queue of queues.all.filter(({ name }) => !queues.isShard(name))) {
      await this.tried(`queue "${queue.name}"`, () => this.look(queue));
    }
    for (const spread of queues.spreads) {
      await this.tried(`queue "${spread.name}"`, () => this.lookAtShards(spread));
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
      const turn = await this.takeTurn(queues.reference(OUTBOX_RECORD));
      await this.inTurn(turn, (told, nowMs) => [outboxAlertOf(told, nowMs, verdict)]);
    }
  }

  private async look(queue: JobQueue): Promise<void> {
    return this.inTurn(await this.takeTurn(queue), async (told, nowMs) => {
      const verdict = await verdictOn(queue);
      const kinds = verdict.state === 'unreadable' ? [] : await shownKinds(queue);
      const fresh = newKinds(told, { nowMs, kinds });
      const causes = fresh.length > 0 ? await this.causes.turnsOf(queue, fresh, nowMs) : undefined;
      return alertsOf(told, { nowMs, verdict, kinds, ...(causes && { causes }) });
    });
  }

  /** Looks at a queue with shards as one queue. A shard that gives no reply is part of the verdict. */
  private async lookAtShards({ name, shards }: SpreadQueue): Promise<void> {
    const turn = await takeTurnOfShards(shards, this.fleetEveryMs);
    await this.inTurn(turn, async (told, nowMs) => {
      const read = await Promise.all(shards.map(readShard));
      const verdict = joinVerdicts(name, read);
      const kinds = joinKinds(read.flatMap((shard) => shard.kinds));
      const facts = { nowMs, verdict, kinds, isUnread: verdict.state === 'unreadable' };
      const fresh = newKinds(told, facts);
      if (fresh.length === 0) {
        return alertsOf(told, facts);
      }
      const { history } = shards[read.findIndex(({ signs }) => signs)]!;
      const what = `the causes of queue "${name}"`;
      try {
        const causes = await this.causes.turnsOf({ name, history }, fresh, nowMs);
        this.faults.succeeded(what);
        return alertsOf(told, { ...facts, causes });
      } catch (error) {
        this.faults.failed(what, `Could not read ${what}; a later look tells its new errors`, error);
        return alertsOf(told, { ...facts, kinds: kinds.filter((kind) => !fresh.includes(kind)) });
      }
    });
  }

  /** Takes the turn of the fleet for a record. Returns undefined if it is not due. */
  private async takeTurn(queue: JobQueue): Promise<AlertTurn | undefined> {
    const token = queue.store.clock.randomId();
    const turn = await queue.exec(({ alerts }) => alerts.takeTurn({ token, everyMs: this.fleetEveryMs }));
    let kept = turn?.record;
    return (
      turn && {
        nowMs: turn.nowMs,
        record: parseRecord(turn.record),
        keep: async (record) => {
          const after = JSON.stringify(record);
          const isKept =
            after === kept || (await queue.exec(({ alerts }) => alerts.told({ token, record: after })));
          kept = after;
          return isKept;
        },
      }
    );
  }

  /** Tells what is to tell, if it is the turn of this process. */
  private async inTurn(
    turn: AlertTurn | undefined,
    alertsAfter: (told: AlertRecord, nowMs: number) => AlertStep[] | Promise<AlertStep[]>,
  ): Promise<void> {
    if (!turn) {
      return;
    }
    for (const { notice, record, causes } of await alertsAfter(turn.record, turn.nowMs)) {
      if (notice) {
        await this.tell(notice);
      }
      if (causes) {
        await this.causes.told(causes);
      }
      if (!(await turn.keep(record))) {
        return; // another process looks now
      }
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

/** Reads a shard. If its master is away, the verdict says so. */
async function readShard(shard: JobQueue): Promise<KnownQueue & { kinds: AlertKind[] }> {
  try {
    const [signs, kinds] = await inTime(shard, Promise.all([readSigns(shard), shownKinds(shard)]));
    return { verdict: verdictOf(signs), signs, kinds };
  } catch (error) {
    return { verdict: unreadableByAny(shard.name, error), kinds: [] };
  }
}

async function verdictOn(queue: JobQueue): Promise<QueueVerdict> {
  try {
    return verdictOf(await readSigns(queue));
  } catch (error) {
    return unreadable(queue.name, error);
  }
}
