import type { ScoredSet } from './scored-set.js';

/** The waiting jobs without a group. */
interface PlainLine {
  /** Jobs with a priority, the most urgent first. */
  readonly urgent: readonly string[];
  /** Jobs without a priority, the oldest first. */
  readonly others: readonly string[];
  /** Returns the rank of an urgent job. */
  rank(id: string): number;
}

/**
 * Returns the next job to claim, usually the most urgent one. One turn in ten takes the oldest without a priority, and
 * one the first of any priority. See lua/lib/place/take.lua.
 *
 * @param isNamed whether the claim asks for names: then no turn goes to any priority, see lua/lib/place/take_named.lua
 */
export function headByTurn({ urgent, others, rank }: PlainLine, turn: number, isNamed = false): string | undefined {
  const share = (turn * 0.6180339887498949) % 1;
  if (urgent.length === 0 || (share < 0.1 && others.length > 0)) {
    return others[0];
  }
  if (isNamed || share < 0.1 || share >= 0.2) {
    return urgent[0];
  }
  const picked = rank(urgent[Math.floor((share * 10 - 1) * urgent.length)]!);
  const start = lineStart(picked);
  return urgent.find((id) => rank(id) >= start);
}

/** Returns where the ranks of the same priority begin. They grow from there by order of arrival. */
function lineStart(rank: number): number {
  return Math.floor(rank / 2 ** 40) * 2 ** 40;
}

/** Returns the place of a job with a rank in the order of arrival. */
export function arrivalOf(job: Readonly<Record<string, string>>): number {
  const rank = Number(job.rank);
  return rank - lineStart(rank);
}

/** The used part of a queue: its line and its turns. */
interface TurnQueue {
  readonly prioritized: ScoredSet;
  readonly sequence: number;
}

/** A claim that is under way. */
interface TurnClaim {
  /** All jobs without a group. The taken ones are among them. */
  readonly plain: ReadonlySet<string>;
  readonly taken: readonly string[];
  readonly isNamed: boolean;
}

/** Returns the order for a claim, which starts with the next job without a group. */
export function withPlainHead(
  { prioritized, sequence }: TurnQueue,
  line: readonly string[],
  { plain, taken, isNamed }: TurnClaim,
): readonly string[] {
  const waiting = line.filter((id) => plain.has(id));
  const urgent = waiting.filter((id) => prioritized.has(id));
  const others = waiting.filter((id) => !prioritized.has(id));
  const turn = sequence + taken.filter((id) => plain.has(id)).length + 1;
  const head = headByTurn({ urgent, others, rank: (id) => prioritized.score(id)! }, turn, isNamed);
  return head === undefined ? line : [head, ...line];
}
