// Reads the server and its queues once, for `stats`, `top` and `health`.
import type { QueueSigns, QueueVerdict } from '../inspect/queue-signs.js';
import { readServerVerdict, type ServerVerdict } from '../inspect/server-verdict.js';
import { readFacts, signsOf } from '../inspect/signs.js';
import type { RateWindow } from '../inspect/rate-window.js';
import { byWhole, type Joined, joinHistory, joinSigns, joinVerdicts } from '../inspect/join-shards.js';
import { shardsAmong } from '../queue/model/spread.js';
import { unreadable, unreadableByAny } from '../inspect/unreadable.js';
import { harmOf, verdictOf, worstFirst, type RankedQueue } from '../inspect/verdict.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { HistoryMark, HistoryPoint } from '../queue/model/history.js';
import { RedisStore } from '../queue/redis-store.js';
import type { Session } from './redis/session.js';

/** Redis and its queues at one moment. */
export interface Overview {
  /** Undefined if the user may not ask. */
  server: ServerVerdict | undefined;
  queues: QueueOverview[];
}

/** A queue at one moment. */
export interface QueueOverview {
  verdict: QueueVerdict;
  /** Absent if the queue is unreadable. */
  figures?: {
    signs: QueueSigns;
    /** The figures of the last minutes; undefined if none are recorded. */
    recent: HistoryPoint | undefined;
    /** The deploys and outages of the last hour, the oldest first. */
    marks: readonly HistoryMark[];
  };
  /** Its shards, the worst first. Absent for a queue without. */
  shards?: QueueOverview[];
}

/**
 * Reads one queue, or all, the worst first. An unreadable queue has a verdict with the reason and no figures.
 *
 * @param window of a view that reads again and again
 */
export async function readOverview(session: Session, name?: string, window?: RateWindow): Promise<Overview> {
  const [server, queues] = await Promise.all([
    session.awaitReply(readServerVerdict(RedisStore.of(session.client))),
    name === undefined ? overviewOfAll(session, window) : overviewOfOne(session, name, window),
  ]);
  return { server, queues };
}

/** Reads a queue. One with shards is followed by them. */
async function overviewOfOne(session: Session, name: string, window?: RateWindow): Promise<QueueOverview[]> {
  const shards = await session.shards.others(name);
  if (shards.length === 0) {
    return [await readOrVerdict(name, session.existing(name), window)];
  }
  const [whole] = await overviewOfQueues(
    [name, ...shards].map((each) => session.queue(each)),
    window,
  );
  return [whole!, ...whole!.shards!];
}

async function overviewOfAll(session: Session, window?: RateWindow): Promise<QueueOverview[]> {
  const names = await session.queueNames();
  return overviewOfQueues(
    names.map((name) => session.queue(name)),
    window,
  );
}

/** Reads some queues, the worst first. Joins the shards of each. */
export async function overviewOfQueues(queues: readonly JobQueue[], window?: RateWindow): Promise<QueueOverview[]> {
  const isShard = shardsAmong(queues.map(({ name }) => name));
  const all = await Promise.all(
    queues.map((queue) =>
      isShard(queue.name) ? readShard(queue, window) : readOrVerdict(queue.name, queue, window),
    ),
  );
  const joined = byWhole(all, ({ verdict }) => verdict.queue).map(joinShards);
  return joined.toSorted((a, b) => worstFirst(ranked(a), ranked(b)));
}

/** Reads a shard. If its master is away, its verdict says so, and the other shards are shown. */
async function readShard(queue: JobQueue, window?: RateWindow): Promise<QueueOverview> {
  try {
    return await overviewOf(queue, window);
  } catch (error) {
    return { verdict: unreadableByAny(queue.name, error) };
  }
}

function joinShards({ queue, shards }: Joined<QueueOverview>): QueueOverview {
  const [first] = shards;
  if (shards.length === 1) {
    return first!;
  }
  const known = shards.map(({ verdict, figures }) => ({ verdict, ...(figures && { signs: figures.signs }) }));
  const read = shards.flatMap(({ figures }) => figures ?? []);
  return {
    verdict: joinVerdicts(queue, known),
    ...(read.length > 0 && {
      figures: {
        signs: joinSigns(
          queue,
          read.map(({ signs }) => signs),
        ),
        recent: joinHistory(read.map(({ recent }) => recent)),
        marks: read[0]!.marks,
      },
    }),
    shards: shards.toSorted((a, b) => worstFirst(ranked(a), ranked(b))),
  };
}

function ranked({ verdict, figures }: QueueOverview): RankedQueue {
  return { name: verdict.queue, verdict, ...(figures && { harm: harmOf(figures.signs) }) };
}

/** @throws the error if it is not that of an unreadable queue */
async function readOrVerdict(
  name: string,
  queue: JobQueue | Promise<JobQueue>,
  window?: RateWindow,
): Promise<QueueOverview> {
  try {
    return await overviewOf(await queue, window);
  } catch (error) {
    return { verdict: unreadable(name, error) };
  }
}

async function overviewOf(queue: JobQueue, window?: RateWindow): Promise<QueueOverview> {
  const facts = await readFacts(queue);
  const pace = window?.add(queue.name, facts.stats.totals);
  const signs = signsOf(facts, pace);
  const { total: recent, marks } = facts.history;
  return { verdict: verdictOf(signs), figures: { signs, recent, marks } };
}
