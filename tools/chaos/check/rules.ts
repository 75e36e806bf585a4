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
 */
export function wronglyDead(
  { attempts, errors, crashes }: Counts,
  most: { attempts: number; crashes: number },
  { canFail = true, isFinal = false } = {},
): string[] {
  const failed = isFinal ? errors > 0 : canFail && attempts >= most.attempts;
  return [
    ...(failed || crashes >= most.crashes
      ? []
      : [`is a dead letter after ${attempts} attempts and ${crashes} crashes`]),
    ...(attempts === errors + crashes ? [] : [`had ${attempts} attempts, ${errors} errors and ${crashes} crashes`]),
  ];
}
