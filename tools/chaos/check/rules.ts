// What holds of a job wherever it ran: the soak asks it of Redis and of what processes wrote down, the simulation of its own memory.

/** The counts of a job, as it stores them. */
export interface Counts {
  attempts: number;
  errors: number;
  crashes: number;
}

/** I8 in a group of one slot, and the follow-up of a batch: a later job is not claimed before the last claim of an earlier one. */
export function ranOutOfOrder(lastFenceOfEarlier: number, firstFenceOfLater: number): boolean {
  return lastFenceOfEarlier > firstFenceOfLater;
}

/**
 * I6: returns what is wrong with a dead letter; nothing where its crashes or its attempts are used up.
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
