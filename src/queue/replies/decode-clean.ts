import { wholeNumbersOf } from './check-reply.js';
import type { CleanReply } from '../store/call-outcomes.js';

/** Decodes the reply of `lua/queue/clean.lua` and `lua/group/clean.lua`. */
export function decodeClean(reply: unknown): CleanReply {
  const [deleted, next] = wholeNumbersOf(reply, 2);
  return { deleted: deleted!, next: next === -1 ? undefined : next };
}
