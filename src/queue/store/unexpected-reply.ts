import { show } from '../errors/show.js';

/** A reply that its call cannot have. */
export class UnexpectedReply extends Error {
  constructor(expected: string, found: unknown) {
    super(`expected ${expected}, found ${show(found)}`);
  }
}
