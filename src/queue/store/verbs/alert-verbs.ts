import type { StoreCall } from '../store-call.js';

/** The turn to look at a queue for alerts. */
interface AlertTurn {
  /** The time of the store, in ms. */
  nowMs: number;
  /** The record of the told alerts, as the last teller wrote it; '' for none. */
  record: string;
}

/** The verbs that tell each alert once in the fleet. */
export interface AlertVerbs {
  /**
   * Takes the turn to look. Returns undefined if another look began less than `everyMs` ago.
   *
   * @param token identifies the look, so that its repeat gets the same turn
   */
  takeTurn(token: string, everyMs: number): StoreCall<AlertTurn | undefined>;
  /** Keeps which alerts were told. Returns false, and keeps nothing, if another look has begun since. */
  told(token: string, record: string): StoreCall<boolean>;
}
