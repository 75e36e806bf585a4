// Draws from the seed which faults happen, in which order, to which process and for how long.
import { Random } from './random.js';

/** One server, a master and its replica under Sentinel, or three masters with a replica each. */
export type Topology = 'single' | 'sentinel' | 'cluster';

/** `own`: only on a server that the run may harm. `on`: only on these topologies, besides a single server. */
export const FAULT_KINDS = {
  kill: { own: false, on: ['single', 'sentinel', 'cluster'] },
  freeze: { own: false },
  block: { own: false },
  'kill-producer': { own: false, on: ['single', 'sentinel', 'cluster'] },
  'rolling-restart': { own: false },
  'earlier-version': { own: false },
  'clock-off': { own: false },
  cut: { own: false },
  'half-open': { own: false },
  slow: { own: false },
  bandwidth: { own: false, on: ['single', 'sentinel', 'cluster'] },
  'lost-replies': { own: false },
  'client-kill': { own: false },
  'delete-hash': { own: false },
  'break-hash': { own: false },
  misplace: { own: false, on: ['single', 'sentinel', 'cluster'] },
  'script-flush': { own: true },
  'redis-kill': { own: true },
  'redis-freeze': { own: true },
  'out-of-memory': { own: true },
  readonly: { own: true },
  'sentinel-kill': { own: true, on: ['sentinel'] },
  'sentinel-freeze': { own: true, on: ['sentinel'] },
  'sentinel-switch': { own: true, on: ['sentinel'] },
  'cluster-kill': { own: true, on: ['cluster'] },
  'cluster-switch': { own: true, on: ['cluster'] },
  'slot-move': { own: true, on: ['cluster'] },
  'hub-cut': { own: true, on: ['cluster'] },
} as const satisfies Record<string, { own: boolean; on?: readonly Topology[] }>;

export type FaultKind = keyof typeof FAULT_KINDS;

export interface PlannedFault {
  kind: FaultKind;
  /** The victim, as a share of the number of candidates. */
  victim: number;
  /** 0 to 1: how long or how much, from the least to the most that this kind may be. */
  strength: number;
  /** The time the fleet is left alone afterwards, in ms. */
  restMs: number;
}

/** Returns a value from the least to the most, by how strong the fault is. */
export function strength(planned: PlannedFault, least: number, most: number): number {
  return Math.round(least + planned.strength * (most - least));
}

/** Does the same for a range of several magnitudes, each of them as likely. */
export function magnitude(planned: PlannedFault, least: number, most: number): number {
  return Math.round(least * (most / least) ** planned.strength);
}

export function victim<Possible>(all: readonly Possible[], planned: PlannedFault): Possible {
  return all[Math.floor(planned.victim * all.length)]!;
}

/** Returns the kinds of faults that this topology allows. */
export function kindsOf(topology: Topology, own: boolean): FaultKind[] {
  return (Object.keys(FAULT_KINDS) as FaultKind[]).filter((kind) => {
    const fault: { own: boolean; on?: readonly Topology[] } = FAULT_KINDS[kind];
    return (own || !fault.own) && (fault.on ?? ['single']).includes(topology);
  });
}

/**
 * Kinds that were added after seeds were kept. They are drawn separately, so that a kept seed still draws the same
 * other kinds.
 */
const LATER_KINDS: readonly FaultKind[] = ['bandwidth', 'hub-cut'];

/** Yields faults without an end. Each round has every kind once in random order, with the later kinds at its end. */
export function* plan(seed: number, kinds: readonly FaultKind[]): Generator<PlannedFault> {
  const random = new Random(seed);
  const later = new Random(seed + 1);
  const isLater = (kind: FaultKind) => LATER_KINDS.includes(kind);
  for (;;) {
    const first = random.shuffled(kinds.filter((kind) => !isLater(kind)));
    yield* first.map((kind) => drawn(kind, random));
    yield* later.shuffled(kinds.filter(isLater)).map((kind) => drawn(kind, later));
  }
}

function drawn(kind: FaultKind, random: Random): PlannedFault {
  return { kind, victim: random.next(), strength: random.next(), restMs: random.between(2_000, 4_000) };
}
