/**
 * One step on a queue, as a value. Nothing happens until a store runs it. A store may run it again after a lost reply: the
 * repeat changes nothing, and gets the first answer.
 */
export interface StoreCall<Answer> {
  /** The verb, such as `attemptClaim`. */
  readonly script: string;
  /** Returns the answer that a reply of the store means. */
  decode(reply: unknown): Answer;
  /** What to send instead where the connection was cut before the answer: the same, for less. Absent where it is the same. */
  afterCut?: () => StoreCall<Answer>;
}
