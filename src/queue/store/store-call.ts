/**
 * One step on a queue, as a value. Nothing happens until a store runs it. A store may run it again after a lost reply: the
 * repeat changes nothing, and gets the first reply.
 */
export interface StoreCall<Answer> {
  /** The verb, such as `attemptClaim`. */
  readonly script: string;
  /** Returns the answer that a reply of the store means. */
  decode(reply: unknown): Answer;
  /**
   * Returns the call to send if the connection was cut before the reply: the same with less content. Absent if it is the
   * same.
   */
  afterCut?: () => StoreCall<Answer>;
}
