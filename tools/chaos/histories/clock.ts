// The clock by which the processes of a run write their histories.

/** Returns ms of the machine's monotonic clock: the same in every process, whatever is done to its `Date`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
