import { z } from 'zod';
import {
  type AlertKind,
  alertsOf,
  newKinds,
  outboxAlertOf,
  parseRecord,
  type AlertRecord,
  type AlertStep,
  type VerdictNotice,
  type CauseTurn,
} from '../../inspect/alerts.js';
import { readOutboxVerdict } from '../../inspect/outbox-verdict.js';
import { joinKinds, joinVerdicts, type KnownQueue } from '../../inspect/join-shards.js';
import type { QueueVerdict } from '../../inspect/queue-signs.js';
import { causesOf, GOES_ON_MS, keyOf, type KindOfQueue, type SharedError } from '../../inspect/shared-errors.js';
import { readSigns } from '../../inspect/signs.js';
import { inTime, unreadable, unreadableByAny } from '../../inspect/unreadable.js';
import { verdictOf } from '../../inspect/verdict.js';
import { lastCause, lastErrorWords } from '../../queue/dead-letters/error-kinds.js';
import { nameOfCode } from '../../queue/errors/stored-error.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { systemClock, type Timer } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { within } from '../../queue/runtime/waits.js';
import { ShownContent } from '../../queue/store/shown-content.js';
import type { SpreadQueue } from '../../spread/spread-queue.js';
import { FaultLog } from '../../worker/reports/failure-log.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { ResolvedModuleOptions } from '../job-queue.options.js';

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

// Sends one notice for each root cause of errors, whatever the number of queues that have it. The processes of a fleet look
// at different queues, so Redis keeps the causes of which a notice was sent.

/** The queue whose record of alerts has the causes. It has no jobs. */
const CAUSES_RECORD = '@errors';
/** The longest time for a notice, in ms. After that another process sends the notice, because the first one has died. */
const LONGEST_TURN_MS = 30_000;
/** The most looks at a record that others write at the same time. */
const MOST_LOOKS = 5;
/** The most causes that are remembered. */
const MOST_CAUSES = 300;

const causeRecordSchema = z.record(
  z.string(),
  z.object({ queue: z.string(), atMs: z.number(), isTold: z.boolean().optional() }),
);
type CauseRecord = z.infer<typeof causeRecordSchema>;

/** A queue whose kinds are new. With shards it has the history of one of them. */
type LookedAt = Pick<JobQueue, 'name' | 'history'>;

/** The root causes of which the processes of a fleet send notices. */
export class CausesOfFleet {
  constructor(
    private readonly queues: Pick<QueueRegistry, 'all' | 'reference' | 'wholeOf'>,
    /** Reads the kinds of error of a queue, with words that may leave the app. */
    private readonly kindsOf: (queue: JobQueue, lastMs?: number) => Promise<AlertKind[]>,
  ) {}

  /** Returns whether each new kind of a queue needs a notice, and the other queues with its cause. */
  async turnsOf(
    queue: LookedAt,
    fresh: readonly AlertKind[],
    nowMs: number,
  ): Promise<ReadonlyMap<string, CauseTurn>> {
    const kinds = fresh.map((kind) => ({ ...kind, queue: queue.name }));
    const turns = new Map<string, CauseTurn['turn']>();
    await this.change((record) => {
      for (const key of new Set(kinds.map(keyOf))) {
        const known = record[key];
        const isKnown = known !== undefined && nowMs - known.atMs < GOES_ON_MS;
        const isOfOther =
          isKnown && !known.isTold && known.queue !== queue.name && nowMs - known.atMs < LONGEST_TURN_MS;
        const turn = isKnown && known.isTold ? 'told' : isOfOther ? 'wait' : 'tell';
        turns.set(key, turn);
        if (turn !== 'wait') {
          record[key] = { queue: queue.name, atMs: nowMs, ...(turn === 'told' && { isTold: true }) };
        }
      }
    });
    // A mark asks for a notice when the kind returns. A notice of the cause does not replace that one.
    const turnOf = (kind: (typeof kinds)[number]): CauseTurn['turn'] => {
      const turn = turns.get(keyOf(kind)) ?? 'tell';
      return turn === 'told' && (kind.mark?.comesAgain || kind.mark?.quietUntil) ? 'tell' : turn;
    };
    const errors = kinds.some((kind) => turnOf(kind) === 'tell') ? await this.errorsWith(queue, kinds, nowMs) : [];
    return new Map(
      kinds.map((kind): [string, CauseTurn] => {
        const error = errors.find(({ kinds: all }) => all.includes(kind));
        return [kind.kind, { turn: turnOf(kind), ...(error && { error }) }];
      }),
    );
  }

  /** Notes that a notice of these causes was sent. */
  async told(keys: readonly string[]): Promise<void> {
    await this.change((record) => {
      for (const key of keys) {
        if (record[key]) record[key].isTold = true;
      }
    });
  }

  /** Returns the causes of kinds, with the other queues of this process that have them. An unreadable queue is left out. */
  private async errorsWith(queue: LookedAt, kinds: readonly KindOfQueue[], nowMs: number): Promise<SharedError[]> {
    const others = this.queues.all.filter(({ name }) => this.queues.wholeOf(name) !== queue.name);
    const [history, ...found] = await Promise.all([
      queue.history
        .read({ lastMs: 2 * GOES_ON_MS }) // with the deploys before the first error
        .catch(() => undefined),
      ...others.map((other) =>
        this.kindsOf(other, GOES_ON_MS).then(
          (all) => all.map((kind) => ({ ...kind, queue: this.queues.wholeOf(other.name) })),
          () => [],
        ),
      ),
    ]);
    const recent = found.flat().filter(({ lastAt }) => nowMs - lastAt.getTime() < GOES_ON_MS);
    return causesOf([...kinds, ...recent], history?.marks);
  }

  /** Changes the record. Begins again if another process has read it meanwhile, because both would tell the same. */
  private async change(change: (record: CauseRecord) => void): Promise<void> {
    const queue = this.queues.reference(CAUSES_RECORD);
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const token = queue.store.clock.randomId();
      const { record: before = '' } =
        (await queue.exec(({ alerts }) => alerts.takeTurn({ token, everyMs: 0 }))) ?? {};
      const record = parsedCauses(before);
      change(record);
      const kept = Object.entries(record).toSorted(([, a], [, b]) => b.atMs - a.atMs);
      const after = JSON.stringify(Object.fromEntries(kept.slice(0, MOST_CAUSES)));
      if (after === before || (await queue.exec(({ alerts }) => alerts.told({ token, record: after })))) {
        return;
      }
    }
  }
}

/** Reads a record. One of another version or program counts as none. */
function parsedCauses(text: string): CauseRecord {
  try {
    return causeRecordSchema.parse(JSON.parse(text));
  } catch {
    return {};
  }
}

// The record of the told alerts of a queue with shards. Each shard has a copy, so that a silent master keeps no notice back.

/** The turn of the fleet to look for alerts. */
interface AlertTurn {
  nowMs: number;
  record: AlertRecord;
  /** Keeps what was told. Returns false if another process looks now. */
  keep(record: AlertRecord): Promise<boolean>;
}

/**
 * Takes the turn for the shards of a queue, at the first one that replies. The record is the newest copy, because a master that was
 * away has an old one. Returns undefined if the turn is not due.
 *
 * @throws the error of the last shard if none replies
 */
async function takeTurnOfShards(shards: readonly JobQueue[], everyMs: number): Promise<AlertTurn | undefined> {
  const token = shards[0]!.store.clock.randomId();
  const take = (shard: JobQueue, leastMs: number) =>
    inTime(
      shard,
      shard.exec(({ alerts }) => alerts.takeTurn({ token, everyMs: leastMs })),
    );
  const { at, reply: turn } = await firstReply(shards, (shard) => take(shard, everyMs));
  if (!turn) {
    return undefined;
  }
  const others = shards.slice(at + 1);
  const copies = await Promise.allSettled(others.map((shard) => take(shard, 0)));
  const there = [shards[at]!, ...others.filter((_, i) => copies[i]!.status === 'fulfilled')];
  const texts = copies.flatMap((copy) => (copy.status === 'fulfilled' ? (copy.value?.record ?? '') : []));
  let kept = [turn.record, ...texts];
  const [record] = kept.map(parseRecord).toSorted((a, b) => copyNumberOf(b) - copyNumberOf(a));
  let copy = copyNumberOf(record!);
  return {
    nowMs: turn.nowMs,
    record: record!,
    keep: async (next) => {
      const same = JSON.stringify({ ...next, copy });
      if (kept.every((text) => text === same)) {
        return true;
      }
      copy += 1;
      const text = JSON.stringify({ ...next, copy });
      const [isKept, ...isCopied] = await Promise.all(
        there.map((shard, i) => {
          const call = inTime(
            shard,
            shard.exec(({ alerts }) => alerts.told({ token, record: text })),
          );
          return i === 0 ? call : call.catch(() => false);
        }),
      );
      kept = [text, ...isCopied.map((is) => (is ? text : ''))];
      return isKept!;
    },
  };
}

function copyNumberOf({ copy = 0 }: AlertRecord): number {
  return copy;
}

/** Asks one shard after the other. Returns the first reply, and the place of its shard. */
async function firstReply<Reply>(shards: readonly JobQueue[], ask: (shard: JobQueue) => Promise<Reply>) {
  for (let at = 0; ; at++) {
    try {
      return { at, reply: await ask(shards[at]!) };
    } catch (error) {
      if (at === shards.length - 1) {
        throw error;
      }
    }
  }
}
