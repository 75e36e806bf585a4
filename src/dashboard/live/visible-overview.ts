import type { OutboxVerdict } from '../../inspect/servers/outbox-verdict.js';
import type { DashboardRequest } from '../dashboard-options.js';
import type { Permissions } from '../security/permissions.js';
import type { OverviewView, WorkerView } from '../views/views.js';
import { overallVerdict, worseFact } from './verdict-view.js';

/** Returns the part of the overview that the request may see. `can` is asked for each queue that occurs in it. */
export async function visibleOverview(
  permissions: Permissions,
  request: DashboardRequest,
  overview: OverviewView,
): Promise<OverviewView> {
  const visible = await visibleQueues(permissions, request, overview);
  const queues = overview.queues.filter(({ name }) => visible.has(name));
  const unreadable = overview.unreadable.filter(({ name }) => visible.has(name));
  const seesAll = [...overview.queues, ...overview.unreadable].every(({ name }) => visible.has(name));
  const outbox = seesAll || !overview.outbox ? overview.outbox : withoutCause(overview.outbox);
  const workers = await Promise.all(
    overview.workers.map(async (worker) => ({
      ...worker,
      queues: worker.queues.filter((name) => visible.has(name)),
      running: await permissions.visible(request, worker.running),
      prefetched: await permissions.visible(request, worker.prefetched),
      stuck: await permissions.visible(request, worker.stuck),
    })),
  );
  return {
    at: overview.at,
    server: overview.server,
    outbox,
    sentence: overallVerdict(worseFact(overview.server, outbox), [...queues, ...unreadable]),
    queues,
    unreadable,
    workers: workers.filter(hasSomething),
    runs: overview.runs.filter(({ queue }) => visible.has(queue)),
  };
}

/** Removes the cause, which may name a queue that is not visible. */
function withoutCause({ cause: _cause, ...verdict }: OutboxVerdict): OutboxVerdict {
  return verdict;
}

async function visibleQueues(
  permissions: Permissions,
  request: DashboardRequest,
  { queues, unreadable, workers, runs }: OverviewView,
): Promise<ReadonlySet<string>> {
  const named = [...queues, ...unreadable].map(({ name }) => name);
  const names = [
    ...new Set([...named, ...workers.flatMap((worker) => worker.queues), ...runs.map(({ queue }) => queue)]),
  ];
  return new Set(await permissions.visibleQueues(request, names));
}

/** Returns whether a worker serves or runs anything that is visible. */
function hasSomething({ queues, running, prefetched, stuck }: WorkerView): boolean {
  return [queues, running, prefetched, stuck].some((each) => each.length > 0);
}
