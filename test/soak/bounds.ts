// I4: no script works without a bound. What a call may do follows from what it is given; what it may take, from no one waiting.
import type { Facts } from './facts.js';

/** The slices of the sweep and of the doctor are no larger. */
const LARGEST_SLICE = 200;
const COMMANDS_PER_JOB = 15;

/**
 * No call takes so long, in ms, not even where the server must wait for a processor: it has 200 jobs to move, a few ms of
 * work. Meanwhile nobody else is answered.
 */
const LONGEST_CALL_MS = 500;

/** The server's log of slow calls counts in whole seconds. */
const LOG_TOLERANCE_MS = 1_500;

export function unbounded({ remarks }: Facts): string[] {
  const large = remarks.scripts
    .filter(({ args, commands }) => commands > COMMANDS_PER_JOB * Math.max(args, LARGEST_SLICE))
    .map(
      ({ name, args, commands }) => `I4: one call of ${name} with ${args} arguments called ${commands} commands`,
    );
  // A server that was stopped in the middle of a call counts that too.
  const frozen = remarks.faults.filter(({ kind }) => kind.endsWith('freeze'));
  const slow = remarks.slow
    .filter(({ ms }) => ms > LONGEST_CALL_MS)
    .filter(
      ({ ms, atMs }) =>
        !frozen.some(
          ({ beganMs, healedMs }) => atMs + LOG_TOLERANCE_MS > beganMs && atMs - ms - LOG_TOLERANCE_MS < healedMs,
        ),
    )
    .map(({ name, ms }) => `I4: one call of ${name} took the server ${ms} ms`);
  return [...large, ...slow];
}
