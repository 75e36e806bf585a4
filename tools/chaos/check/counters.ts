// Compares the counters of the server with the histories and with each other.
import type { Facts } from '../histories/facts.js';
import {
  ADDED,
  CANCEL_ASKED,
  CANCELLED,
  DOUBT,
  OPEN,
  PRIORITY,
  REMOVE_ASKED,
  REMOVED,
} from '../histories/marks.js';
import type { Snapshot } from './snapshot.js';

/** A counter, and the range that the histories allow. */
export interface Counter {
  name: string;
  found: number;
  least: number;
  most: number;
}

/** Totals over all jobs in the histories. */
export interface Sums {
  /** Acknowledged enqueues, including ticks of schedules, and enqueues without a reply. */
  added: number;
  open: number;
  ticks: number;
  /** Acknowledged completions, and completions that may have been sent and got no reply. */
  completed: number;
  doubts: number;
  cancelled: number;
  cancelAsked: number;
  removed: number;
  removeAsked: number;
  /** Jobs with a priority: each took a fence for its place. */
  ranked: number;
}

/**
 * Returns each counter with its minimum and maximum, which are equal where the histories are complete. They differ
 * after a lost reply, a failover, or the death of a process that had not recorded a reply.
 */
export function counters(facts: Facts, snapshot: Snapshot, sums: Sums): Counter[] {
  const { totals, jobs } = snapshot;
  const { retried, released, reclaimed, redriven, discarded, thrown, unfinished } = facts.ends;
  const total = (name: string) => totals[name] ?? 0;
  const between = (name: string, least: number, most: number): Counter => {
    return { name: `${name}_total`, found: total(name), least, most };
  };
  const exactly = (name: string, count: number) => between(name, count, count);
  const inPlace = (...places: string[]) => jobs.filter(({ place }) => places.includes(place));
  const dead = inPlace('dead');
  const ended = total('completed') + total('cancelled') + inPlace('dead', 'waiting', 'processing').length;
  const most = mostOf(facts, snapshot, sums);
  // Ticks of before a loss of all data and of after it are not told apart.
  const all = facts.forgot ? { added: 0, open: Infinity, completed: 0, doubts: Infinity } : sums;
  return [
    between('enqueued', all.added, all.added + all.open),
    between('completed', all.completed, all.completed + all.doubts),
    exactly('failed', dead.length + total('redriven') + total('discarded')),
    between('cancelled', sums.cancelled, sums.cancelAsked),
    between('retried', retried.surely, retried.perhaps + thrown),
    between('released', released.surely, released.perhaps + thrown + unfinished + most.unseen),
    between('reclaimed', reclaimed.surely, most.reclaimed),
    between('crashed', 0, total('reclaimed')), // no history records how many had started
    exactly('broken', dead.filter(({ hasPayload }) => !hasPayload).length),
    between('redriven', redriven.surely, redriven.perhaps),
    between('discarded', discarded.surely, discarded.perhaps),
    between('removed', sums.removed, sums.removed + sums.removeAsked),
    exactly('durable', 0),
    between('outages', 0, Infinity), // no history records which attempts met a refusal of Redis
    between('limited', 0, Infinity), // no history records that free slots waited for a rate
    {
      name: 'enqueued_total less what ended or waits',
      found: total('enqueued') - ended,
      least: total('removed') + total('discarded'),
      most: total('removed') + total('discarded'),
    },
  ];
}

/** Returns counters out of their range, and counters that have no rule. */
export function miscounts(counts: readonly Counter[], { totals }: Snapshot): string[] {
  const known = new Set(counts.map(({ name }) => name));
  const unknown = Object.keys(totals).filter((name) => !known.has(`${name}_total`));
  return [
    ...counts
      .filter(({ found, least, most }) => !(found >= least && found <= most))
      .map(({ name, found, least, most }) => `I1: ${name} is ${found}, expected ${least} to ${most}`),
    ...unknown.map((name) => `I1: ${name}_total is ${totals[name]}, and nothing says what it should be`),
  ];
}

/**
 * Derives from the fence counter what no process recorded. Each claim, each reclaim and each place of a prioritized job
 * takes one number. Of the remaining numbers, each reclaim took one, or two if no process recorded the start of the
 * claim.
 */
function mostOf({ ends }: Facts, { totals, sequence }: Snapshot, { ranked }: Sums) {
  const { claims, unsettled, deletedHashes } = ends;
  const numbers = sequence - claims - ranked;
  return {
    /** A deleted hash takes no more fences. */
    reclaimed: Math.floor(Math.min(numbers, (numbers + unsettled) / 2)) + deletedHashes,
    /** Claims whose start no process recorded. */
    unseen: Math.max(0, numbers - (totals.reclaimed ?? 0) + deletedHashes),
  };
}

/** @param shared names of jobs that may be one */
export function sumsOf(facts: Facts, shared: ReadonlyMap<string, unknown>): Sums {
  const sums: Sums = {
    added: 0,
    open: 0,
    ticks: 0,
    completed: 0,
    doubts: 0,
    cancelled: 0,
    cancelAsked: 0,
    removed: 0,
    removeAsked: 0,
    ranked: 0,
  };
  for (const [process, jobs] of facts.jobs) {
    for (let number = 0; number < jobs.count && !jobs.forgotten; number++) {
      const [marks, state] = [jobs.marks[number]!, jobs.state[number]];
      if (state === OPEN) sums.open++;
      if (state === ADDED) sums.added++;
      if (state === ADDED && marks & PRIORITY) sums.ranked++;
      sums.completed += jobs.completions[number]!;
      if (jobs.completions[number] === 0 && marks & DOUBT) sums.doubts++;
      if (marks & CANCELLED && !shared.has(`${process}:${number}`)) sums.cancelled++;
      if (marks & (CANCELLED | CANCEL_ASKED)) sums.cancelAsked++;
      if (marks & REMOVED) sums.removed++;
      else if (marks & REMOVE_ASKED) sums.removeAsked++;
    }
  }
  for (const { completions, doubts, sure } of facts.ticks.all.values()) {
    if (sure) sums.ticks++;
    else sums.open++;
    sums.completed += completions;
    if (completions === 0 && doubts.size > 0) sums.doubts++;
  }
  sums.added += sums.ticks;
  return sums;
}
