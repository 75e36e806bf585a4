// The effect by which a fault counts as done. Each fault waits for the state that it needs, and the run reports its
// hits.
import { sleep, within } from '../../../test/support/faults/wait.js';
import type { KindRecovery } from '../run/recovery.js';

/** The unit of a hit, by kind of fault. */
const HITS: Record<string, string> = {
  kill: 'claims left behind',
  freeze: 'claims expired',
  block: 'claims expired',
  'kill-producer': 'enqueues unanswered',
  'rolling-restart': 'claims in flight',
  'earlier-version': 'jobs begun by it',
  'clock-off': 'calls by that clock',
  cut: 'requests cut',
  'half-open': 'requests swallowed',
  slow: 'requests delayed',
  bandwidth: 'requests over the narrow link',
  'lost-replies': 'replies lost',
  'client-kill': 'connections ended',
  'delete-hash': 'hashes deleted',
  'break-hash': 'hashes broken',
  misplace: 'jobs and keys misplaced',
  'script-flush': 'calls refused: NOSCRIPT',
  'redis-kill': 'claims in flight',
  'redis-kill without persistence': 'acknowledged enqueues forgotten',
  'redis-freeze': 'processes kept waiting',
  'out-of-memory': 'calls refused: OOM',
  readonly: 'calls refused: READONLY',
  'sentinel-kill': 'claims in flight',
  'sentinel-freeze': 'claims in flight',
  'sentinel-switch': 'claims in flight',
  'cluster-kill': 'claims in flight',
  'cluster-switch': 'claims in flight',
  'slot-move': 'keys moved',
  'hub-cut': 'subscribers ended',
};

/** A timeout against hanging. The awaited state comes within moments while any process works. */
const COMES_MS = 30_000;

/** Returns the hits in words. */
export function hitsOf({ kind, hits }: Pick<KindRecovery, 'kind' | 'hits'>): string {
  return `${hits} ${HITS[kind] ?? 'hits'}`;
}

/** Returns the kinds of faults that happened, and never hit anything. */
export function missed(recoveries: readonly KindRecovery[]): string[] {
  return recoveries
    .filter(({ hits }) => !(hits > 0))
    .map(({ kind, count, hits }) => `${kind}: done ${count} times, and nothing was hit: ${hitsOf({ kind, hits })}`);
}

/**
 * Asks until there is a reply, or returns undefined after the timeout. An error, such as one of a stopped server, is no
 * reply. A question that hangs is abandoned, and may see the end of the run.
 */
export async function inTime<Reply>(
  ask: (isOver: () => boolean) => Reply | undefined | Promise<Reply | undefined>,
  withinMs = COMES_MS,
): Promise<Reply | undefined> {
  const endMs = performance.now() + withinMs;
  const isOver = () => performance.now() >= endMs;
  do {
    const asked = Promise.resolve(isOver).then(ask);
    const answer = await within(endMs - performance.now(), 'an answer', asked).catch(() => undefined);
    if (answer !== undefined) return answer;
    await sleep(10);
  } while (!isOver());
  return undefined;
}

/** Asks until a number has grown, and returns the growth. */
export async function growth(from: number, read: () => number | Promise<number>): Promise<number> {
  const grown = async () => {
    const by = (await read()) - from;
    return by > 0 ? by : undefined;
  };
  return (await inTime(grown)) ?? 0;
}
