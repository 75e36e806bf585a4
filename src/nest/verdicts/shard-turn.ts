// The record of the told alerts of a queue with shards. Each shard has a copy, so that a silent master keeps no notice back.
import { type AlertRecord, parseRecord } from '../../inspect/alerts.js';
import { inTime } from '../../inspect/unreadable.js';
import type { JobQueue } from '../../queue/job-queue.js';

/** The turn of the fleet to look for alerts. */
export interface AlertTurn {
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
export async function takeTurnOfShards(
  shards: readonly JobQueue[],
  everyMs: number,
): Promise<AlertTurn | undefined> {
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
  const [record] = kept.map(parseRecord).toSorted((a, b) => copyOf(b) - copyOf(a));
  let copy = copyOf(record!);
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

function copyOf({ copy = 0 }: AlertRecord): number {
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
