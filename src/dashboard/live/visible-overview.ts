import type { QueueSigns } from '../../inspect/queue-signs.js';
import type { OutboxVerdict } from '../../inspect/outbox-verdict.js';
import { sharedErrors } from '../../inspect/shared-errors.js';
import { findingOf } from '../../inspect/verdict.js';
import { count, markInWords } from '../../inspect/words.js';
import { oneLine } from '../../queue/errors/show.js';
import { type ActionName, ACTIONS, type ActionRow } from '../../queue/model/actions.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { groupBy } from '../../queue/runtime/collections.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { HiddenParts, type Permissions } from '../security/permissions.js';
import type {
  VerdictView,
  OverviewView,
  SharedErrorView,
  WorkerView,
  EndedWorkerView,
  TimelineEvent,
} from '../views/views.js';
import type { OverviewReading } from './overview-reader.js';
import { rowsOf } from './queue-rows.js';
import { sharedLimitViews } from './shared-limits-view.js';
import { outboxView, overallVerdict, verdictView, worseFact } from './verdict-view.js';

/** The most errors of several queues that the overview shows. */
const MOST_ERRORS = 5;

/** The words of a verdict by its signs, which viewers share. */
const wordsOfSigns = new WeakMap<QueueSigns, VerdictView>();
/** The overview of viewers who may see everything, by its reading. */
const wholeOverviews = new WeakMap<OverviewReading, OverviewView>();

/**
 * Returns the part of a reading that the request may see. `can` is asked for each queue that occurs in it. Sentences are
 * made here: of the parts that are left.
 */
export async function visibleOverview(
  permissions: Permissions,
  request: DashboardRequest,
  reading: OverviewReading,
): Promise<OverviewView> {
  const known = permissions.areOpen ? wholeOverviews.get(reading) : undefined;
  const seen = known ?? (await partFor(permissions, request, reading));
  if (permissions.areOpen) {
    wholeOverviews.set(reading, seen);
  }
  return seen;
}

async function partFor(
  permissions: Permissions,
  request: DashboardRequest,
  reading: OverviewReading,
): Promise<OverviewView> {
  const visible = await visibleQueues(permissions, request, reading);
  const parts = new HiddenParts(permissions, request);
  const read = reading.queues.filter(({ name }) => visible.has(name));
  const views = await Promise.all(
    read.map(async ({ signs, history, ...queue }) => {
      const shown = await parts.ofQueue(signs);
      return { signs, shown, history, view: { ...queue, verdict: inWords(shown) } };
    }),
  );
  const { queues, unreadable, shards } = rowsOf(
    views,
    reading.unreadable.filter(({ name }) => visible.has(name)),
  );
  const seesAll = [...reading.queues, ...reading.unreadable].every(({ name }) => visible.has(name));
  const outbox = seesAll || !reading.outbox ? reading.outbox : withoutCause(reading.outbox);
  const workers = await Promise.all(
    reading.workers.map(async (worker) => ({
      ...worker,
      queues: worker.queues.filter((name) => visible.has(name)),
      running: await permissions.visible(request, worker.running),
      prefetched: await permissions.visible(request, worker.prefetched),
      stuck: await permissions.visible(request, worker.stuck),
    })),
  );
  const ended = await Promise.all(
    reading.ended.map(async (worker) => ({ ...worker, ran: await permissions.visible(request, worker.ran) })),
  );
  const kinds = await visibleKinds(permissions, request, reading);
  const deploys = reading.deploys.filter(({ queue }) => visible.has(queue));
  return {
    at: reading.at,
    server: reading.server,
    outbox: outbox && outboxView(outbox),
    sentence: overallVerdict(worseFact(reading.server, outbox), [...queues, ...unreadable]),
    errors: sharedErrorViews({ ...reading, kinds, deploys }),
    timeline: timelineOf({
      at: reading.at,
      kinds,
      deploys,
      entries: reading.entries.filter(({ queue }) => visible.has(queue)),
      ended: ended.filter(({ ran }) => ran.length > 0),
      outboxSince: reading.outboxSince,
    }),
    queues,
    unreadable,
    shards,
    workers: workers.filter(hasSomething),
    ended: ended.filter(({ ran }) => ran.length > 0),
    runs: await Promise.all(reading.runs.filter(({ queue }) => visible.has(queue)).map((run) => parts.ofRun(run))),
    hasTopics: reading.topicQueues.some((name) => visible.has(name)),
    sharedLimits: sharedLimitViews(views.map(({ shown }) => shown)),
  };
}

/** Returns the kinds of error of the queues whose jobs the viewer may all see. */
async function visibleKinds(
  permissions: Permissions,
  request: DashboardRequest,
  { kinds }: OverviewReading,
): Promise<OverviewReading['kinds']> {
  const names = [...new Set(kinds.map(({ queue }) => queue))];
  const sees = await Promise.all(names.map((name) => permissions.seesAll(request, name)));
  const seen = new Set(names.filter((_, i) => sees[i]));
  return kinds.filter(({ queue }) => seen.has(queue));
}

/** Returns the errors that several queues have. */
function sharedErrorViews({
  at,
  kinds,
  deploys,
}: Pick<OverviewReading, 'at' | 'kinds' | 'deploys'>): SharedErrorView[] {
  const found = sharedErrors(
    kinds,
    deploys.map(({ mark }) => mark),
    at,
  );
  return found
    .slice(0, MOST_ERRORS)
    .map(({ key, words: text, queues, kinds: all, count: deaths, since, deploy = null }) => ({
      key,
      words: text,
      queues: [...queues],
      count: deaths,
      kinds: all.map(({ queue, kind, count: dead }) => ({ queue, kind, count: dead })),
      since: since.getTime(),
      deploy,
    }));
}

function inWords(signs: QueueSigns): VerdictView {
  const known = wordsOfSigns.get(signs) ?? verdictView(findingOf(signs));
  wordsOfSigns.set(signs, known);
  return known;
}

/** Removes the cause, which may name a queue that is not visible. */
function withoutCause({ cause: _cause, ...verdict }: OutboxVerdict): OutboxVerdict {
  return verdict;
}

async function visibleQueues(
  permissions: Permissions,
  request: DashboardRequest,
  { queues, unreadable, workers, runs, topicQueues }: OverviewReading,
): Promise<ReadonlySet<string>> {
  const named = [...[...queues, ...unreadable].map(({ name }) => name), ...topicQueues];
  const names = [
    ...new Set([...named, ...workers.flatMap((worker) => worker.queues), ...runs.map(({ queue }) => queue)]),
  ];
  return new Set(await permissions.visibleQueues(request, names));
}

/** Returns whether a worker serves or runs anything that is visible. */
function hasSomething({ queues, running, prefetched, stuck }: WorkerView): boolean {
  return [queues, running, prefetched, stuck].some((each) => each.length > 0);
}

// Events of the last hour on one axis: a deploy, a pause, a limit, a death, an error. They come from the reading of the
// overview and from the action log. The caller has taken out the parts that the viewer may not see.

/** The time that the axis covers, in ms. */
const TIMELINE_MS = 3_600_000;
/** The most events that the axis has. Each of them costs the page two nodes. */
const MOST_EVENTS = 30;
/** The most first deaths of kinds of error. A flood of kinds would hide the other events. */
const MOST_KINDS = 8;
const LONGEST_WORDS = 80;
/** Entries of the shards of a queue within this time may be of one call, in ms. */
const ONE_CALL_MS = 10_000;
/** Outages of several queues, or deaths, within this time of each other are one event, in ms. */
const ONE_SERIES_MS = 300_000;

/** The parts of a reading that one viewer may see. */
interface TimelineParts extends Pick<OverviewReading, 'at' | 'deploys' | 'entries' | 'kinds'> {
  ended: readonly EndedWorkerView[];
  outboxSince: number | null;
}

/** Returns the events of the last hour, the oldest first. */
export function timelineOf({ at, deploys, entries, kinds, ended, outboxSince }: TimelineParts): TimelineEvent[] {
  const isRecent = (time: Date) => at - time.getTime() <= TIMELINE_MS;
  const firsts = onceForShards(kinds)
    .filter(({ firstAt, kind }) => isRecent(firstAt) && !kind.startsWith('@'))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, MOST_KINDS);
  const events: TimelineEvent[] = [
    ...deploysOf(deploys.filter(({ mark }) => isRecent(mark.at))),
    ...callsOf(entries.filter((entry) => isRecent(entry.at) && !entry.target && entry.count !== 0)).flatMap(
      (call) => eventOf(call),
    ),
    ...deathsOf(ended),
    ...firsts.map(({ queue, kind, firstAt, error, cause }): TimelineEvent => ({
      at: firstAt.getTime(),
      kind: 'error',
      text: `first in ${queue}: ${oneLine(cause?.words ?? error ?? kind, LONGEST_WORDS)}`,
      page: ['queue', queue],
      params: { state: 'failed', group: kind },
    })),
    ...(outboxSince !== null && at - outboxSince <= TIMELINE_MS
      ? [
          {
            at: outboxSince,
            kind: 'relay',
            text: 'the outbox needs a look',
            page: ['outbox'],
          } satisfies TimelineEvent,
        ]
      : []),
  ];
  return events.toSorted((a, b) => a.at - b.at).slice(-MOST_EVENTS);
}

/** Returns an event for each series of deaths: a crash loop would push the other events off the axis. */
function deathsOf(ended: readonly EndedWorkerView[]): TimelineEvent[] {
  const series: [EndedWorkerView, ...EndedWorkerView[]][] = [];
  for (const worker of ended.toSorted((a, b) => a.at - b.at)) {
    const last = series.at(-1);
    if (last && worker.at - last.at(-1)!.at < ONE_SERIES_MS) {
      last.push(worker);
    } else {
      series.push([worker]);
    }
  }
  return series.map(([{ at, host }, ...others]) => ({
    at,
    kind: 'death',
    text: others.length === 0 ? `a worker of ${host} died` : `${count(others.length + 1)} workers died`,
    page: ['workers'],
  }));
}

/** Returns an event for each version, at its first sight, and for each outage. Each queue of an app has marks of both. */
function deploysOf(deploys: OverviewReading['deploys']): TimelineEvent[] {
  const events: TimelineEvent[] = [];
  const lastMs = new Map<string, number>();
  for (const { queue, mark } of deploys.toSorted((a, b) => a.mark.at.getTime() - b.mark.at.getTime())) {
    const text = markInWords(mark);
    const at = mark.at.getTime();
    const kind = mark.kind === 'deploy' ? 'deploy' : 'outage';
    const sinceLastMs = at - (lastMs.get(text) ?? -Infinity);
    if (sinceLastMs > (kind === 'deploy' ? TIMELINE_MS : ONE_SERIES_MS)) {
      events.push({ at, kind, text, page: ['queue', queue], params: { view: 'charts' } });
    }
    lastMs.set(text, at);
  }
  return events;
}

/** Returns each kind of error once for the shards of a queue: where it was first. */
function onceForShards(kinds: OverviewReading['kinds']): OverviewReading['kinds'] {
  const ordered = kinds.toSorted((a, b) => a.firstAt.getTime() - b.firstAt.getTime());
  const first = groupBy(ordered, ({ queue, kind }) => `${wholeOfShard(queue)} ${kind}`);
  return [...first.values()].map(([kind]) => kind!);
}

type QueueEntry = OverviewReading['entries'][number];

/** Returns the entries by calls: one call that acts on all shards of a queue leaves an entry in each. */
function callsOf(entries: readonly QueueEntry[]): QueueEntry[][] {
  const calls: QueueEntry[][] = [];
  const last = new Map<string, QueueEntry[]>();
  for (const entry of entries.toSorted((a, b) => a.at.getTime() - b.at.getTime())) {
    const key = [wholeOfShard(entry.queue), entry.action, entry.by].join(' ');
    const call = last.get(key);
    const isSame = call && entry.at.getTime() - call[0]!.at.getTime() < ONE_CALL_MS;
    if (isSame && call.every(({ queue }) => queue !== entry.queue)) {
      call.push(entry);
    } else {
      calls.push([entry]);
      last.set(key, calls.at(-1)!);
    }
  }
  return calls;
}

function eventOf(call: readonly QueueEntry[]): TimelineEvent[] {
  const { at, action, by, queue: first } = call[0]!;
  const queue = call.length > 1 ? wholeOfShard(first) : first;
  const row: ActionRow | undefined = ACTIONS[action as ActionName]; // none for an entry of another version
  const kind = row?.onTimeline;
  const text = `${action} of ${queue} by ${oneLine(by, LONGEST_WORDS)}`;
  return kind === undefined ? [] : [{ at: at.getTime(), kind, text, page: ['queue', queue] }];
}
