import type { CleanReply } from '../store/call-outcomes.js';

/** Decodes the reply of `lua/queue/clean.lua` and `lua/group/clean.lua`. */
export function decodeClean(reply: unknown): CleanReply {
  const [deleted, next] = (reply as (number | string)[]).map(Number);
  return { deleted: deleted!, next: next === -1 ? undefined : next };
}
