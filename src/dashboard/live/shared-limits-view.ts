import type { QueueSigns } from '../../inspect/queue-signs.js';
import { limitOfWholes, waitingKeysInWords } from '../../inspect/limit-rules.js';
import { groupBy } from '../../queue/runtime/collections.js';
import { wholesOf } from '../../queue/model/spread.js';
import type { PermitHolder, SharedLimitState } from '../../queue/model/shared-limit.js';
import type { SharedKeyView, SharedLimitView } from '../views/views.js';

type Named = Pick<QueueSigns, 'queue' | 'sharedLimits'>;

/** Returns each limit that the queues share once, by name, with the queues that name it. */
export function sharedLimitViews(queues: readonly Named[]): SharedLimitView[] {
  const found = new Map<string, { limit: SharedLimitState; named: string[] }>();
  for (const { queue, sharedLimits = [] } of queues) {
    for (const limit of sharedLimits) {
      const known = found.get(limit.name) ?? { limit, named: [] };
      known.named.push(queue);
      found.set(limit.name, known);
    }
  }
  return [...found.values()]
    .map(({ limit, named }) => viewOf(limit, named))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Returns all queues that a change of a limit touches, as far as it is known. */
export function queuesOfLimit(name: string, queues: readonly Named[]): string[] {
  const named = queues.flatMap(({ queue, sharedLimits = [] }) => {
    const limit = sharedLimits.find((each) => each.name === name);
    return limit ? [queue, ...limit.queues, ...limit.holders.map((holder) => holder.queue), ...limit.waiting] : [];
  });
  return [...new Set(named)];
}

function viewOf(limit: SharedLimitState, named: readonly string[]): SharedLimitView {
  const { name, holders, waiting, keys } = limitOfWholes(limit);
  return {
    name,
    queues: wholesOf(named).toSorted((a, b) => a.localeCompare(b)),
    holders: byQueue(holders),
    waiting: [...waiting],
    hasKeys: keys !== undefined,
    waitingKeys: waitingKeysInWords(limit.waitingKeys),
    ...figuresOf(limit),
  };
}

/** Returns one key of a limit for the page. */
export function sharedKeyView(state: SharedLimitState): SharedKeyView {
  return { name: state.key!, isAwaited: state.waiting.length > 0, ...figuresOf(state) };
}

function figuresOf(limit: SharedLimitState): Omit<SharedKeyView, 'name' | 'isAwaited'> {
  const { maxRunning, rateLimit, source, running } = limit;
  return {
    maxRunning: maxRunning ?? null,
    rates: [...rateLimit],
    isSet: source === 'set',
    running,
    nextStartAt: limit.nextStartAt?.getTime() ?? null,
    restsUntil: limit.restsUntil?.getTime() ?? null,
    pausedAt: limit.pausedAt?.getTime() ?? null,
    pausedUntil: limit.pausedUntil?.getTime() ?? null,
    pausedBy: limit.pausedBy ?? null,
    pauseReason: limit.pauseReason ?? null,
  };
}

function byQueue(holders: readonly PermitHolder[]): SharedLimitView['holders'] {
  const found = [...groupBy(holders, ({ queue }) => queue)].map(([queue, own]) => ({
    queue,
    permits: own.reduce((sum, { permits }) => sum + permits, 0),
    workers: new Set(own.map(({ worker }) => worker)).size,
  }));
  return found.toSorted((a, b) => b.permits - a.permits);
}
