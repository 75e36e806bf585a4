import type { QueueStore } from './queue-store.js';

/** The time for which the calls of a queue are used without a look at its layout, in ms. */
const LAYOUT_CHECK_MS = 60_000;

/**
 * Calls back when the layout of a queue must be read again. A process of another version may have changed it. So the check costs one
 * command a minute for a queue that is used, and none of a single call.
 *
 * @param owner the argument of the callback. The timer does not keep it in memory, because an app may use many queues once
 */
export function afterLayoutCheck<Owner extends object>(
  { clock, isShared }: Pick<QueueStore, 'clock' | 'isShared'>,
  owner: Owner,
  expired: (owner: Owner) => void,
): void {
  if (!isShared) return;
  const held = new WeakRef(owner);
  const expire = () => {
    const kept = held.deref();
    if (kept) expired(kept);
  };
  clock.setTimeout(expire, LAYOUT_CHECK_MS).unref();
}
