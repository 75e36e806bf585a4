import type { GroupLimits } from '../../queue/model/limits.js';
import type { Pause } from './pause.js';

/** The state of one group. */
export interface GroupState {
  /** The job that holds it back while the settings say so. */
  hold?: { id: string; isDead: boolean };
  /** The settings of run time. */
  own?: GroupLimits | undefined;
  /** The settings of the code. */
  configured?: GroupLimits;
  /** True if these limits are from a job of a schedule or a follow-up, and not from an enqueue. */
  isStored?: boolean;
  /** The last pause. Its time may be over. */
  pause?: Pause;
  restsUntil: number;
  /** The length of its rest, in ms. */
  restMs?: number;
  /** Its last turn, in turns of a weight of 1. */
  turn: number;
  /** The sequence of the queue when its own rate changed: earlier claims paid another amount. */
  rateSetAt?: number;
  /** The theoretical arrival time of its rate, in ms. */
  arrival: number;
}
