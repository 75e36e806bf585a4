// I4: no script works without a bound. The input of a call bounds its work, because Redis serves no other client during
// the call.
import type { Facts } from '../histories/facts.js';

/** The slices of the sweep and of the doctor are no larger. */
const LARGEST_SLICE = 200;
const COMMANDS_PER_JOB = 15;

/** A call has a few ms of work at most. An overloaded machine kept a call waiting 400 ms for a processor. */
const LONGEST_CALL_MS = 1_000;

/** A large sample averages out the waits of an overloaded machine: the usual slow call shows the script's own work. */
const USUAL_CALL_MS = 100;
const FEWEST_CALLS = 5;

/** The server's log of slow calls counts in whole seconds. */
const LOG_TOLERANCE_MS = 1_500;

export function unbounded(facts: Facts): string[] {
  return [...large(facts), ...slow(facts)];
}

function large({ remarks }: Facts): string[] {
  return remarks.scripts
    .filter(({ args, commands }) => commands > COMMANDS_PER_JOB * Math.max(args, LARGEST_SLICE))
    .map(
      ({ name, args, commands }) => `I4: one call of ${name} with ${args} arguments called ${commands} commands`,
    );
}

function slow(facts: Facts): string[] {
  return [...slowCalls(facts)].flatMap(([name, times]) => {
    const [usual, longest] = [times[Math.floor(times.length / 2)]!, times.at(-1)!];
    if (longest > LONGEST_CALL_MS) return [`I4: one call of ${name} took the server ${longest} ms`];
    return times.length >= FEWEST_CALLS && usual > USUAL_CALL_MS
      ? [`I4: ${times.length} calls of ${name} took the server ${usual} ms as a rule`]
      : [];
  });
}

/**
 * Returns the slow calls by script, in ms, ascending. Leaves out calls during which the server was stopped, because the
 * log counts that time too.
 */
export function slowCalls({ remarks }: Facts): Map<string, number[]> {
  const frozen = remarks.faults.filter(({ kind }) => kind.endsWith('freeze'));
  const calls = new Map<string, number[]>();
  for (const { name, ms, atMs } of remarks.slow) {
    const [fromMs, toMs] = [atMs - ms - LOG_TOLERANCE_MS, atMs + LOG_TOLERANCE_MS];
    if (frozen.some(({ beganMs, healedMs }) => toMs > beganMs && fromMs < healedMs)) continue;
    calls.set(name, [...(calls.get(name) ?? []), ms]);
  }
  return new Map([...calls].map(([name, times]) => [name, times.toSorted((a, b) => a - b)]));
}
