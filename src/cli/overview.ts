// Reads the server and its queues once, for `stats`, `top` and `health`.
import { byWhole, type Joined, joinHistory, joinSigns, joinVerdicts } from '../inspect/join-shards.js';
import { VERDICT_MARKS, verdictMark } from '../inspect/marks.js';
import type { QueueSigns, QueueVerdict } from '../inspect/queue-signs.js';
import type { RateWindow } from '../inspect/rate-window.js';
import { drainsInMs, drainWords } from '../inspect/rule.js';
import { readServerVerdict, type ServerVerdict } from '../inspect/server-verdict.js';
import { readFacts, signsOf } from '../inspect/signs.js';
import { unreadable, unreadableByAny } from '../inspect/unreadable.js';
import { harmOf, verdictOf, worstFirst, type RankedQueue } from '../inspect/verdict.js';
import { count, markInWords, pace, percent } from '../inspect/words.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { HistoryMark, HistoryPoint } from '../queue/model/history.js';
import { shardsAmong } from '../queue/model/spread.js';
import { RedisStore } from '../queue/redis-store.js';
import type { Output } from './output.js';
import type { Session } from './redis/session.js';
import { age, lines, type Part, text, type Text } from './text.js';

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
  const measured = window?.add(queue.name, facts.stats.totals);
  const signs = signsOf(facts, measured);
  const { total: recent, marks } = facts.history;
  return { verdict: verdictOf(signs), figures: { signs, recent, marks } };
}

// Shows an overview, for `stats`, `top` and `health`.

const COLUMNS = [
  '',
  'queue',
  'waiting',
  'oldest',
  'drains',
  'running',
  'in/s',
  'out/s',
  'dead',
  'wait p95',
  'run p95',
  'failed',
];
const WIDE_COLUMNS = ['workers', 'scheduled', 'done'];
const ALL_COLUMNS = [...COLUMNS, ...WIDE_COLUMNS];
const LAYOUT = {
  whole: ['queue'],
  right: ALL_COLUMNS.slice(2),
  dropped: [...WIDE_COLUMNS.toReversed(), 'running', 'drains'],
  droppedLast: ['run p95', 'wait p95', 'out/s', 'in/s'],
};
const UNKNOWN = '–';
const MOST_MARKS = 5;
/** The most verdicts above a table. Each has three lines, and a screen of 24 lines also shows the table. */
const MOST_ABOVE = 3;
/** The most queues of which `health` says that all is well. */
const MOST_WELL = 20;

/** Returns the overview as JSON, with the queues by name. */
export function jsonOf({ server, queues }: Overview): object {
  return { server: server ?? null, queues: Object.fromEntries(queues.map(entryOf)) as object };
}

function entryOf({ verdict, figures, shards }: QueueOverview): [name: string, entry: object] {
  const { queue, ...words } = verdict;
  const more = shards && { shards: Object.fromEntries(shards.map(entryOf)) as object };
  if (!figures) {
    return [queue, { verdict: words, ...more }];
  }
  const { signs, recent, marks } = figures;
  const { stats, rates = null } = signs;
  const durations = { wait: recent?.wait ?? null, run: recent?.run ?? null };
  const ms = drainsInMs(signs);
  const drains = ms === undefined ? {} : { drainsInMs: ms === Infinity ? null : Math.round(ms) };
  return [queue, { ...stats, rates, ...drains, ...durations, marks, verdict: words, ...more }];
}

/** The verdicts beside the table: those of the worst queues above it, or those of unreadable ones below it. */
type ShownVerdicts = 'worst above' | 'unreadable below';

/** The row that a person has chosen by the arrow keys. */
interface Selection {
  /** The chosen queue, whose verdict is then the only one above the table. Undefined before the first key. */
  queue: string | undefined;
}

/** The rows above the chosen one that stay on the screen. */
const ROWS_ABOVE = 5;

/**
 * Shows what is wrong with Redis, a row for each queue, and the verdicts that are asked for. Of a single queue it shows
 * deploys and outages too. A terminal that is too narrow shows fewer columns.
 *
 * @param none the words where there is no queue
 */
export function overviewText(
  { server, queues }: Overview,
  none: string,
  out: Output,
  { verdicts: shown, selection }: { verdicts: ShownVerdicts; selection?: Selection },
): Part {
  const at = queues.findIndex(({ verdict }) => verdict.queue === selection?.queue);
  const chosen = queues[at];
  const above = Math.max(0, at - ROWS_ABOVE);
  const rows = () => queues.slice(above).map((each) => rowOf(each, out, selection));
  return blocks([
    serverText(server, out),
    shown === 'worst above' ? (chosen ? verdictText([chosen.verdict], out) : worstText(queues, out)) : [],
    [
      ...(above > 0 ? [`… ${count(above)} more above`] : []),
      queues.length > 0 ? out.table(ALL_COLUMNS, rows(), LAYOUT) : none,
      ...(queues.length === 1 ? markLines(queues[0]!.figures?.marks ?? [], out) : []),
    ],
    shown === 'unreadable below' ? unreadableText(queues, out) : [],
  ]);
}

/** Parts below one another, with a blank line between the blocks. */
function blocks(parts: readonly (readonly Part[])[]): Text {
  const told = parts.filter((block) => block.length > 0);
  return lines(told.flatMap((block, i) => (i === 0 ? block : ['', ...block])));
}

/** Returns the worst verdicts. They come first on the screen, which may have no room for all. */
function worstText(queues: readonly QueueOverview[], out: Output): Part[] {
  const wanting = queues.map(({ verdict }) => verdict).filter(({ severity }) => severity !== 'ok');
  const more = wanting.length - MOST_ABOVE;
  return [
    ...verdictText(wanting.slice(0, MOST_ABOVE), out),
    ...(more > 0 ? [`… and ${count(more)} more, see \`health\``] : []),
  ];
}

function unreadableText(queues: readonly QueueOverview[], out: Output): Part[] {
  const unread = queues.filter(({ figures }) => figures === undefined);
  return verdictText(
    unread.map(({ verdict }) => verdict),
    out,
  );
}

/** Returns all verdicts that need a look, the worst first, and some of the others. */
export function healthText(verdicts: readonly QueueVerdict[], out: Output): Part[] {
  const well = verdicts.filter(({ severity }) => severity === 'ok');
  const more = well.length - MOST_WELL;
  const hidden = new Set(more > 1 ? well.slice(MOST_WELL) : []);
  const shown = verdicts.filter((each) => !hidden.has(each));
  return [
    ...verdictText(shown, out),
    ...(more > 1 ? [text`${out.sign(VERDICT_MARKS.ok)} ${count(more)} more queues need nothing`] : []),
  ];
}

function rowOf({ verdict, figures }: QueueOverview, out: Output, selection: Selection | undefined): Part[] {
  const pointer = selection === undefined ? '' : verdict.queue === selection.queue ? '›' : ' ';
  const first = [text`${pointer}${out.sign(verdictMark(verdict))}`, verdict.queue];
  if (!figures) {
    return [...first, ...ALL_COLUMNS.slice(first.length).map(() => UNKNOWN)];
  }
  const { signs, recent } = figures;
  const { stats, rates } = signs;
  return [
    ...first,
    stats.pending,
    stats.pending > 0 ? age(stats.oldestPendingAgeMs) : UNKNOWN,
    drainWords(signs) ?? UNKNOWN,
    stats.processing,
    rates ? pace(rates.in) : UNKNOWN,
    rates ? pace(rates.out) : UNKNOWN,
    stats.failed,
    age(recent?.wait.p95),
    age(recent?.run.p95),
    rates && rates.attempts > 0 ? percent(rates.failedShare) : UNKNOWN,
    stats.workers,
    stats.scheduled,
    stats.totals['completed'] ?? 0,
  ];
}

/** Returns a line for each of the last deploys and outages, the newest first. */
function markLines(marks: readonly HistoryMark[], out: Output): Part[] {
  return marks
    .toSorted((a, b) => b.at.getTime() - a.at.getTime())
    .slice(0, MOST_MARKS)
    .map((mark) => {
      const { kind, at, endedAt } = mark;
      const lasted = endedAt ? ` for ${age(endedAt.getTime() - at.getTime())}` : '';
      return text`  ${kind}  ${out.clipped(markInWords(mark), 60)}${lasted}, ${out.ago(at)}`;
    });
}

/** Returns the verdict on each queue, with its cause and the next step. */
function verdictText(verdicts: readonly QueueVerdict[], out: Output): Part[] {
  return verdicts.flatMap((verdict) => {
    const { queue, summary, cause, next } = verdict;
    return [
      text`${out.sign(verdictMark(verdict))} ${out.clipped(queue, 60)}  ${out.clipped(summary, 400)}`,
      ...(cause === undefined ? [] : [text`    cause: ${out.clipped(cause, 400)}`]),
      ...(next === undefined ? [] : [text`    next:  ${out.clipped(next, 400)}`]),
    ];
  });
}

/** Returns what keeps Redis from taking jobs, or nothing if it takes them. */
export function serverText(server: ServerVerdict | undefined, out: Output): Part[] {
  if (!server || server.severity === 'ok') {
    return [];
  }
  const { severity, summary, next } = server;
  return [
    text`${out.sign(VERDICT_MARKS[severity])} ${summary}`,
    ...(next === undefined ? [] : [text`    next:  ${next}`]),
  ];
}
