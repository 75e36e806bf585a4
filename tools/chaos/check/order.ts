// Checks what only the order of events shows: overlapping claims, stale settlements, early starts and wrong order.
import type { Facts } from '../histories/facts.js';
import { RESCHEDULED } from '../histories/marks.js';
import { startedEarly } from './rules.js';
import type { Snapshot } from './snapshot.js';

/** The server's clock and the machine's monotonic one are set apart by corrections, in ms. */
const CLOCK_TOLERANCE_MS = 50;

/** Returns the violations of I2, I3, I5 and I8. */
export function misordered(facts: Facts, { jobs }: Snapshot): string[] {
  const reclaimed = new Set(jobs.flatMap(({ work, reclaimed: was }) => (work && was ? `${work.p}:${work.n}` : [])));
  return [...repeatedClaims(facts), ...staleSettlements(facts), ...early(facts), ...outOfOrder(facts, reclaimed)];
}

function repeatedClaims(facts: Facts): string[] {
  return [...facts.attempts.claims]
    .map(([name, claims]) => [name, claims.map(({ fence }) => fence)] as const)
    .filter(([, fences]) => new Set(fences).size < fences.length)
    .map(([name, fences]) => `I3: job ${name} was started twice under one claim (fences ${fences.join(', ')})`);
}

/**
 * Returns settlements that were accepted although a later claim had started. A settlement may get its reply late, so
 * the end of its handler counts. A job that a shutdown releases while its handler runs has no such end.
 */
function staleSettlements({ attempts: { settlements, claims } }: Facts): string[] {
  const faults: string[] = [];
  for (const [name, settled] of settlements) {
    for (const { what, fence, endMs } of settled) {
      const later = claims.get(name)?.find((claim) => claim.fence > fence && claim.startMs < endMs);
      if (later) {
        const claim = `by the claim with fence ${fence} after the claim ${later.fence} had begun`;
        faults.push(`I2: job ${name} was settled as ${what} ${claim}`);
      }
    }
  }
  return faults;
}

function early(facts: Facts): string[] {
  const faults: string[] = [];
  for (const [name, dueMs] of facts.attempts.dueMs) {
    const startedMs = facts.attempts.startedMs.get(name) ?? Infinity;
    const [process, number] = name.split(':').map(Number);
    const moved = facts.jobs.get(process!)!.marks[number!]! & RESCHEDULED;
    if (!moved && startedEarly(startedMs, dueMs, CLOCK_TOLERANCE_MS)) {
      faults.push(`I5: job ${name} started ${dueMs - startedMs} ms before it was due`);
    }
  }
  return faults;
}

/**
 * Returns first attempts that started out of the order of their enqueues. A reclaimed lost claim may start later.
 */
function outOfOrder(facts: Facts, reclaimed: ReadonlySet<string>): string[] {
  const faults: string[] = [];
  for (const [process, attempts] of facts.attempts.first) {
    const seen = new Set<number>();
    let latest = -1;
    for (const [number] of attempts.toSorted(([, a], [, b]) => a - b)) {
      const isLate = !seen.has(number) && number < latest && !reclaimed.has(`${process}:${number}`);
      if (isLate) faults.push(`I8: job ${process}:${number} started after ${latest}`);
      seen.add(number);
      latest = Math.max(latest, number);
    }
  }
  return faults;
}
