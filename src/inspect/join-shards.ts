// Joins what is known of the shards of a queue, so that windows show one queue.
import type { ErrorKind } from '../queue/dead-letters/error-kinds.js';
import type { DoctorReport } from '../queue/model/doctor-report.js';
import type { HistoryPoint } from '../queue/model/history.js';
import type { QueueStats, UnservedName } from '../queue/model/job.js';
import { wholeOfShard } from '../queue/model/spread.js';
import type { WorkerRecord } from '../queue/model/worker-record.js';
import { groupBy } from '../queue/runtime/collections.js';
import type { ActionEntry } from '../queue/store/action-entry.js';
import type { AwaitedKeys, QueueSigns, QueueVerdict, RecentPace, RecentRates } from './queue-signs.js';
import type { Finding } from './rule.js';
import { limitOfWholes } from './limit-rules.js';
import { findingOf, worstOf } from './verdict.js';

/** What is known of one queue or shard. */
export interface KnownQueue {
  verdict: Finding & { queue: string };
  /** Absent if it is unreadable. */
  signs?: QueueSigns;
}

/** A queue, and its shards if it has some. */
export interface Joined<Each> {
  queue: string;
  /** The queue itself, or all of its shards. */
  shards: Each[];
}

/** Returns the queues, with the shards of each together. @param nameOf returns the name of a queue or a shard */
export function byWhole<Each>(all: readonly Each[], nameOf: (each: Each) => string): Joined<Each>[] {
  return [...groupBy(all, (each) => wholeOfShard(nameOf(each)))].map(([queue, shards]) => ({ queue, shards }));
}

/** The finding on a queue with shards. `shard` is the one that it names; absent if it is of all jobs together. */
interface JoinedFinding {
  finding: Finding & { queue: string };
  shard?: string;
}

/**
 * Returns the verdict on a queue with shards. If all shards are in the same state it is that of all jobs together. Otherwise it is
 * that of the worst shard, by its name.
 */
export function joinVerdicts(queue: string, shards: readonly KnownQueue[]): QueueVerdict {
  const { remedy: _ofDashboard, ...verdict } = joinFindings(queue, shards).finding;
  return verdict;
}

/** Returns the verdict on a queue with shards, with the place of the next step. @param quoted returns a name in quotes */
export function joinFindings(
  queue: string,
  shards: readonly KnownQueue[],
  quoted: (name: string) => string = (name) => `"${name}"`,
): JoinedFinding {
  const severity = worstOf(shards.map(({ verdict }) => verdict));
  const worst = shards.filter(({ verdict }) => verdict.severity === severity);
  const [{ verdict }] = worst as [KnownQueue];
  const same = worst.filter((shard) => shard.verdict.state === verdict.state).length;
  const read = shards.flatMap(({ signs }) => signs ?? []);
  if ((severity === 'ok' || same === shards.length) && read.length === shards.length) {
    return { finding: findingOf(joinSigns(queue, read)) };
  }
  const lost = shards.find((shard) => !shard.signs && shard.verdict.state !== verdict.state)?.verdict.queue;
  const which = same === 1 ? 'shard' : `${same} of ${shards.length} shards, such as`;
  const more = lost === undefined ? '' : `; shard ${quoted(lost)} is unreadable`;
  const summary = `${which} ${quoted(verdict.queue)}: ${verdict.summary}${more}`;
  return { finding: { ...verdict, queue, summary }, shard: verdict.queue };
}

/** Returns the signs of all shards of a queue together: sums of jobs, and the worst ages. */
export function joinSigns(queue: string, shards: readonly QueueSigns[]): QueueSigns {
  const lists = {
    deaths: unlike(shards, 'deaths', ({ worker }) => worker),
    silent: unlike(shards, 'silent', ({ id }) => id),
    unserved: longestWaits(shards.flatMap(({ unserved = [] }) => unserved)),
    waitingGroups: unlike(shards, 'waitingGroups', ({ name }) => name),
    lostMembers: shards.flatMap(({ lostMembers = [] }) => lostMembers),
    schedules: shards.flatMap(({ schedules = [] }) => schedules),
  };
  const known = Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
  const rates = joinRates(shards.flatMap((each) => each.rates ?? []));
  const pace = sumOf(shards.flatMap((each) => each.pace ?? [])) as RecentPace | undefined;
  const lastHour = sumOf(shards.flatMap((each) => each.lastHour ?? [])) as QueueSigns['lastHour'];
  const sharedLimits = shards.find((each) => each.sharedLimits)?.sharedLimits;
  const awaitedKeys = joinAwaited(shards.flatMap((each) => each.awaitedKeys ?? []));
  return {
    ...(Object.assign({}, ...shards) as QueueSigns),
    queue,
    stats: joinStats(shards.map(({ stats }) => stats)),
    ...known,
    ...(rates && { rates }),
    ...(pace && { pace }),
    ...(lastHour && { lastHour }),
    ...(awaitedKeys && { awaitedKeys }),
    ...(sharedLimits && { sharedLimits: sharedLimits.map(limitOfWholes) }),
    ...withFields(shards, ['diedLately', 'usedSlots', 'stuckSlots', 'stuckJobs'], sum),
    // The workers of a queue with shards serve all of them.
    ...withFields(shards, ['slots', 'pausedWorkers', 'sinceMaintenanceMs', 'usualRunMs', 'usualWaitMs'], highest),
    ...(shards.some(({ hasEnded }) => hasEnded) && { hasEnded: true }),
  };
}

/** Returns the keys for which groups of all shards rest. A group is in one shard. */
function joinAwaited(all: readonly AwaitedKeys[]): AwaitedKeys | undefined {
  return all.length === 0
    ? undefined
    : {
        groups: sum(all.map(({ groups }) => groups)),
        jobs: sum(all.map(({ jobs }) => jobs)),
        keys: all.flatMap(({ keys }) => keys),
      };
}

/** The figures of which the highest counts: ages, and the workers, which serve all shards. */
const HIGHEST: readonly string[] = [
  'oldestPendingAgeMs',
  'oldestUnheldAgeMs',
  'workers',
  'lateAfterMs',
  'errorKinds',
];

/** What is known of a pause, beside its time. */
const PAUSE = ['pausedUntil', 'pausedBy', 'pauseReason'] as const;

/** Returns the stats of all shards: sums of jobs, the worst ages, and the workers once. */
export function joinStats(shards: readonly QueueStats[]): QueueStats {
  const numbers = Object.keys(Object.assign({}, ...shards) as object).filter((key) =>
    shards.some((each) => typeof each[key as keyof QueueStats] === 'number'),
  ) as NumberField<QueueStats>[];
  const totals = sumOf(shards.map((each) => each.totals))!;
  const maintained = shards.map(({ maintainedAt }) => maintainedAt);
  const overdue = shards.flatMap(({ schedulesOverdueSince }) => schedulesOverdueSince ?? []);
  return {
    ...withoutPause(Object.assign({}, ...shards) as QueueStats),
    ...withFields(
      shards,
      numbers.filter((key) => !HIGHEST.includes(key)),
      sum,
    ),
    ...withFields(
      shards,
      numbers.filter((key) => HIGHEST.includes(key)),
      highest,
    ),
    totals,
    unserved: longestWaits(shards.flatMap(({ unserved }) => unserved)),
    maintainedAt: maintained.some((at) => at === null) ? null : earliest(maintained as Date[]),
    maintenanceOverdue: shards.some(({ maintenanceOverdue }) => maintenanceOverdue),
    ...pauseOf(shards),
    ...(overdue.length > 0 && { schedulesOverdueSince: earliest(overdue) }),
  };
}

function withoutPause({
  pausedUntil: _until,
  pausedBy: _by,
  pauseReason: _reason,
  ...stats
}: QueueStats): QueueStats {
  return stats;
}

/** Returns the pause of a queue: that of the shard that goes on first. It has none if a shard has none. */
function pauseOf(shards: readonly QueueStats[]): Pick<QueueStats, 'pausedAt' | (typeof PAUSE)[number]> {
  const [first] = shards.toSorted((a, b) => untilOf(a) - untilOf(b)) as [QueueStats];
  if (shards.some(({ pausedAt }) => pausedAt === null)) {
    return { pausedAt: null };
  }
  const known = PAUSE.flatMap((field) => (first[field] === undefined ? [] : [[field, first[field]]]));
  return { pausedAt: first.pausedAt, ...Object.fromEntries(known) };
}

function untilOf({ pausedUntil }: QueueStats): number {
  return pausedUntil?.getTime() ?? Number.MAX_SAFE_INTEGER;
}

/** Returns the kinds of error of all shards, each once. The first mark of a kind counts for all. */
export function joinKinds<Kind extends Omit<ErrorKind, 'sample'>>(kinds: readonly Kind[]): Kind[] {
  return [...groupBy(kinds, ({ kind }) => kind).values()].map((same) => {
    const marked = same.find(({ mark }) => mark);
    return {
      ...(marked ?? same[0]!),
      ...withFields<Pick<ErrorKind, 'count' | 'lastHour'>>(same, ['count', 'lastHour'], sum),
      firstAt: earliest(same.map(({ firstAt }) => firstAt)),
      lastAt: new Date(highest(same.map(({ lastAt }) => lastAt.getTime()))),
      isNew: same.every(({ isNew }) => isNew),
    };
  });
}

/** Returns the workers of all shards, each once: a worker serves all of them with the same slots. */
export function joinWorkers(shards: readonly (readonly WorkerRecord[])[]): WorkerRecord[] {
  return [...groupBy(shards.flat(), ({ id }) => id).values()].map((same) => {
    const stuck = same.flatMap((each) => each.stuck ?? []);
    const seenAt = new Date(highest(same.map((each) => each.seenAt.getTime())));
    return {
      ...same[0]!,
      ...withFields<WorkerRecord>(same, ['holds'], sum),
      seenAt,
      ...(stuck.length > 0 && { stuck }),
    };
  });
}

/** Returns the audits of all shards as one. */
export function joinReports(reports: readonly DoctorReport[]): DoctorReport {
  return {
    queue: wholeOfShard(reports[0]!.queue),
    checked: sum(reports.map(({ checked }) => checked)),
    counts: sumOf(reports.map(({ counts }) => counts)) as DoctorReport['counts'],
    findings: reports.flatMap(({ findings }) => findings),
    durationMs: highest(reports.map(({ durationMs }) => durationMs)),
  };
}

/** The longest time between the entries of one call in the logs of two shards, in ms. */
const SAME_CALL_MS = 5_000;

/** An entry of an action log, with its time as a Date or in ms. */
type Deed = Pick<ActionEntry, 'via' | 'by' | 'action' | 'subject' | 'count'> & { readonly at: Date | number };

/** Returns the entries of all shards, newest first. A call on all shards has an entry in each, and here it has one. */
export function joinActions<Entry extends Deed>(shards: readonly (readonly Entry[])[]): Entry[] {
  return deedsOf(shards).map(({ entry }) => entry);
}

/** Does the same, and says which shards have each entry. */
export function deedsOf<Entry extends Deed>(
  shards: readonly (readonly Entry[])[],
): { entry: Entry; shards: number[] }[] {
  const found: { entry: Entry; shards: number[] }[] = [];
  const all = shards.flatMap((entries, shard) => entries.map((entry) => ({ entry, shard })));
  for (const { entry, shard } of all.toSorted((a, b) => Number(b.entry.at) - Number(a.entry.at))) {
    const recent = found.slice(found.findLastIndex(({ entry: later }) => !isSoonAfter(later, entry)) + 1);
    const same = recent.find((each) => !each.shards.includes(shard) && isSameDeed(each.entry, entry));
    if (same) {
      const count = same.entry.count === null || entry.count === null ? null : same.entry.count + entry.count;
      same.entry = { ...same.entry, count };
      same.shards.push(shard);
    } else {
      found.push({ entry, shards: [shard] });
    }
  }
  return found;
}

function isSoonAfter(later: Deed, earlier: Deed): boolean {
  return Number(later.at) - Number(earlier.at) <= SAME_CALL_MS;
}

function isSameDeed(one: Deed, other: Deed): boolean {
  return (['via', 'by', 'action', 'subject'] as const).every((field) => one[field] === other[field]);
}

/** Returns the history of all shards together. Quantiles cannot be added, so those of the slowest shard stand for all. */
export function joinHistory(shards: readonly (HistoryPoint | undefined)[]): HistoryPoint | undefined {
  const known = shards.filter((each) => each !== undefined);
  const [first] = known;
  if (first === undefined) {
    return undefined;
  }
  const slowest = (of: 'wait' | 'run') =>
    known.map((each) => each[of]).reduce((a, b) => ((b.p95 ?? -1) > (a.p95 ?? -1) ? b : a));
  const counts = ['enqueued', 'completed', 'failed', 'cancelled', 'retried', 'reclaimed'] as const;
  return { ...first, ...withFields(known, counts, sum), wait: slowest('wait'), run: slowest('run') };
}

function joinRates(all: readonly RecentRates[]): RecentRates | undefined {
  const attempts = sum(all.map((each) => each.attempts));
  const failed = sum(all.map((each) => each.attempts * each.failedShare));
  return all.length === 0
    ? undefined
    : {
        windowMs: highest(all.map(({ windowMs }) => windowMs)),
        in: sum(all.map((each) => each.in)),
        out: sum(all.map((each) => each.out)),
        attempts,
        failedShare: attempts > 0 ? failed / attempts : 0,
        growing: all.some(({ growing }) => growing),
      };
}

type NumberField<Of> = { [Key in keyof Of]-?: NonNullable<Of[Key]> extends number ? Key : never }[keyof Of];

/** Returns some fields, each of the values that are known. A field that none has is absent. */
function withFields<Of extends object>(
  all: readonly Of[],
  fields: readonly NumberField<Of>[],
  join: (values: readonly number[]) => number,
): Partial<Of> {
  const joined = fields.flatMap((field) => {
    const values = all.flatMap((each) => (each[field] as number | undefined) ?? []);
    return values.length > 0 ? [[field, join(values)]] : [];
  });
  return Object.fromEntries(joined) as Partial<Of>;
}

/** Returns the sums of all numbers of objects, by their keys. */
function sumOf(all: readonly object[]): Record<string, number> | undefined {
  const sums: Record<string, number> = {};
  for (const [key, value] of all.flatMap((each) => Object.entries(each) as [string, number][])) {
    sums[key] = (sums[key] ?? 0) + value;
  }
  return all.length > 0 ? sums : undefined;
}

type EntryOf<List> = NonNullable<List> extends readonly (infer Each)[] ? Each : never;

/** Returns the entries of a list of each shard, those with the same key once. */
function unlike<Of, Field extends keyof Of>(
  all: readonly Of[],
  field: Field,
  keyOf: (entry: EntryOf<Of[Field]>) => string,
): EntryOf<Of[Field]>[] {
  const entries = all.flatMap((each) => (each[field] ?? []) as readonly EntryOf<Of[Field]>[]);
  return [...new Map(entries.map((entry) => [keyOf(entry), entry])).values()];
}

/** Returns each name once, the longest wait first. */
function longestWaits(all: readonly UnservedName[]): UnservedName[] {
  const ordered = all.toSorted((a, b) => b.waitingMs - a.waitingMs);
  return ordered.filter(({ name }, i) => ordered.findIndex((each) => each.name === name) === i);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function highest(values: readonly number[]): number {
  return Math.max(...values);
}

function earliest(times: readonly Date[]): Date {
  return new Date(Math.min(...times.map(Number)));
}
