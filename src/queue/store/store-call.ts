import { show } from '../errors/show.js';

/** A reply that its call cannot have. */
export class UnexpectedReply extends Error {
  constructor(expected: string, found: unknown) {
    super(`expected ${expected}, found ${show(found)}`);
  }
}

/**
 * A step on a queue, as a value. Nothing happens until a store runs it. A store may run it again after a lost reply.
 * The repeat changes nothing, and gets the first reply.
 */
export interface StoreCall<Reply> {
  /** The verb, such as `attemptClaim`. */
  readonly script: string;
  /** Decodes a reply of the store. */
  decode(reply: unknown): Reply;
  /**
   * Returns the call to send if the connection was cut before the reply: the same with less content. Absent if it is the
   * same.
   */
  afterCut?: () => StoreCall<Reply>;
}

/** The outcome of one call of several that travelled together. */
export type Settled<Reply> = { ok: true; reply: Reply } | { ok: false; error: Error };

/** The time limit of a call. */
export interface CallLimit {
  /** The limit in ms. Without it: as long as the connection lasts. */
  timeoutMs?: number;
}
