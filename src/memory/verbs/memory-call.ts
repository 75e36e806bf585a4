import type { StoreCall } from '../../queue/store/store-call.js';

/** A call of a store in memory. */
export interface MemoryCall<Reply> extends StoreCall<Reply> {
  /** Runs the step. The reply is a copy: changes by a caller do not affect the state. */
  run(): Reply;
}

export function callOf<Reply>(script: string, run: () => Reply): MemoryCall<Reply> {
  return { script, run, decode: (reply) => reply as Reply };
}
