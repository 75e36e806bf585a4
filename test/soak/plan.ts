// Which faults happen, in which order, to whom and for how long: all of it drawn from the seed.
import { Random } from './random.js';

/** `own`: only where the server is ours to harm. */
export const FAULT_KINDS = {
  kill: { own: false },
  freeze: { own: false },
  block: { own: false },
  'kill-producer': { own: false },
  'rolling-restart': { own: false },
  'clock-off': { own: false },
  cut: { own: false },
  'half-open': { own: false },
  slow: { own: false },
  'lost-replies': { own: false },
  'client-kill': { own: false },
  'delete-hash': { own: false },
  'break-hash': { own: false },
  'script-flush': { own: true },
  'redis-kill': { own: true },
  'redis-freeze': { own: true },
  'out-of-memory': { own: true },
  readonly: { own: true },
} as const;

export type FaultKind = keyof typeof FAULT_KINDS;

export interface PlannedFault {
  kind: FaultKind;
  /** Which of the possible victims: a share of their number. */
  victim: number;
  /** 0 to 1: how long or how much, from the least to the most that this kind may be. */
  strength: number;
  /** How long the fleet is left alone afterwards, in ms. */
  restMs: number;
}

/** Without an end: each kind once, in an order of its own, then each again. */
export function* plan(seed: number, own: boolean): Generator<PlannedFault> {
  const random = new Random(seed);
  const kinds = (Object.keys(FAULT_KINDS) as FaultKind[]).filter((kind) => own || !FAULT_KINDS[kind].own);
  for (;;) {
    for (const kind of random.shuffled(kinds)) {
      yield { kind, victim: random.next(), strength: random.next(), restMs: random.between(2_000, 4_000) };
    }
  }
}
