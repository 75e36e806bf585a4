import type { QueueSigns } from '../../inspect/queue-signs.js';
import { sharedErrors } from '../../inspect/shared-errors.js';
import { findingOf } from '../../inspect/verdict.js';
import { HiddenParts } from '../security/hidden-parts.js';
import type { OutboxVerdict } from '../../inspect/servers/outbox-verdict.js';
import type { DashboardRequest } from '../dashboard-options.js';
import type { Permissions } from '../security/permissions.js';
import type { VerdictView } from '../views/verdict-views.js';
import type { OverviewView, SharedErrorView, WorkerView } from '../views/views.js';
import type { OverviewReading } from './overview-reader.js';
import { rowsOf } from './queue-rows.js';
import { sharedLimitViews } from './shared-limits-view.js';
import { timelineOf } from './timeline.js';
import { outboxView, overallVerdict, verdictView, worseFact } from './verdict-view.js';

/** The most errors of several queues that the overview shows. */
const MOST_ERRORS = 5;

/** The words of a verdict by its signs, which viewers share. */
const words = new WeakMap<QueueSigns, VerdictView>();
/** The overview of viewers who may see everything, by its reading. */
const whole = new WeakMap<OverviewReading, OverviewView>();

/**
 * Returns the part of a reading that the request may see. `can` is asked for each queue that occurs in it. Sentences are
 * made here: of the parts that are left.
 */
export async function visibleOverview(
  permissions: Permissions,
  request: DashboardRequest,
  reading: OverviewReading,
): Promise<OverviewView> {
  const known = permissions.areOpen ? whole.get(reading) : undefined;
  const seen = known ?? (await partFor(permissions, request, reading));
  if (permissions.areOpen) {
    whole.set(reading, seen);
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
    .map(({ key, words: text, queues, kinds: all, count, since, deploy = null }) => ({
      key,
      words: text,
      queues: [...queues],
      count,
      kinds: all.map(({ queue, kind, count: dead }) => ({ queue, kind, count: dead })),
      since: since.getTime(),
      deploy,
    }));
}

function inWords(signs: QueueSigns): VerdictView {
  const known = words.get(signs) ?? verdictView(findingOf(signs));
  words.set(signs, known);
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
