// Sends one notice for each root cause of errors, whatever the number of queues that have it. The processes of a fleet look
// at different queues, so Redis keeps the causes of which a notice was sent.
import { z } from 'zod';
import type { AlertKind, CauseTurn } from '../../inspect/alerts.js';
import { causesOf, GOES_ON_MS, keyOf, type KindOfQueue, type SharedError } from '../../inspect/shared-errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { QueueRegistry } from '../connection/queue-registry.js';

/** The queue whose record of alerts has the causes. It has no jobs. */
const CAUSES_RECORD = '@errors';
/** The longest time for a notice, in ms. After that another process sends the notice, because the first one has died. */
const LONGEST_TURN_MS = 30_000;
/** The most looks at a record that others write at the same time. */
const MOST_LOOKS = 5;
/** The most causes that are remembered. */
const MOST_CAUSES = 300;

const recordSchema = z.record(
  z.string(),
  z.object({ queue: z.string(), atMs: z.number(), isTold: z.boolean().optional() }),
);
type CauseRecord = z.infer<typeof recordSchema>;

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
      const record = parsed(before);
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
function parsed(text: string): CauseRecord {
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
