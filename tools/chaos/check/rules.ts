// Rules for a job in every run. The soak applies them to Redis and the histories, the simulation to its memory.

/** The counts of a job, as it stores them. */
export interface Counts {
  attempts: number;
  errors: number;
  crashes: number;
}

/**
 * Returns whether I8 is broken in a group of one slot, or by a follow-up. A later job must follow the last claim of the
 * earlier one.
 */
export function ranOutOfOrder(lastFenceOfEarlier: number, firstFenceOfLater: number): boolean {
  return lastFenceOfEarlier > firstFenceOfLater;
}

/**
 * Returns the violations of I6 by a dead letter; none if its crashes or attempts are used up.
 *
 * @param canFail whether its attempts can fail without a crash
 * @param isFinal whether its first failure ends it
 * @param isRedriven whether it may have been redriven. A redrive of a job that a crash had ended keeps the crashes of before
 */
export function wronglyDead(
  { attempts, errors, crashes }: Counts,
  most: { attempts: number; crashes: number },
  { canFail = true, isFinal = false, isRedriven = false } = {},
): string[] {
  const failed = isFinal ? errors > 0 : canFail && attempts >= most.attempts;
  const ended = errors + crashes;
  const isAccounted = isRedriven ? errors <= attempts && attempts <= ended : attempts === ended;
  return [
    ...(failed || crashes >= most.crashes
      ? []
      : [`is a dead letter after ${attempts} attempts and ${crashes} crashes`]),
    ...(isAccounted ? [] : [`had ${attempts} attempts, ${errors} errors and ${crashes} crashes`]),
  ];
}

/** Returns whether a job started before it was due, against I5. @param toleranceMs by how much the two clocks may differ */
export function startedEarly(startedMs: number, dueMs: number, toleranceMs = 0): boolean {
  return startedMs < dueMs - toleranceMs;
}

/** A tick that waits longer, in ms, while processes reach the server, is late. They look every 5 s. */
export const TICK_LATEST_MS = 30_000;

/**
 * Returns the latest due time of the tick after this one. The maker of a tick reads the server's clock, and then takes the
 * first due time after it.
 */
export function latestNextTick(madeMs: number, everyMs: number): number {
  return (Math.floor(madeMs / everyMs) + 1) * everyMs;
}

export type FollowUpKind = 'then' | 'on_failure' | 'finally';

/**
 * Returns what is wrong with the last follow-up of a batch that was enqueued.
 *
 * @param fired the enqueued follow-ups, the last one included
 * @param ends the states of the members
 * @param isCancelled whether somebody asked for the cancel of the batch
 */
export function misfired(fired: readonly FollowUpKind[], ends: readonly string[], isCancelled: boolean): string[] {
  const kind = fired.at(-1)!;
  const others = fired.slice(0, -1);
  const isWell = ends.every((end) => end === 'completed');
  const open = ends.find((end) => ['pending', 'scheduled', 'processing'].includes(end));
  return [
    ...(others.includes(kind) ? ['was enqueued twice'] : []),
    ...(open === undefined ? [] : [`was enqueued while a member was ${open}`]),
    ...(kind === 'then' && !isWell ? [`was enqueued, and the members are ${ends.join(', ')}`] : []),
    ...(kind === 'on_failure' && isWell && !isCancelled ? ['was enqueued although all members completed'] : []),
    ...(kind !== 'finally' && others.some((other) => other !== 'finally' && other !== kind)
      ? [`was enqueued beside ${others.join(', ')}`]
      : []),
  ];
}
