import type { StoreCall } from '../../../queue/store/store-call.js';

/** A call of a store in memory. */
export interface MemoryCall<Answer> extends StoreCall<Answer> {
  /** Runs the step. The reply is a copy: changes by a caller do not affect the state. */
  run(): Answer;
}

export function callOf<Answer>(script: string, run: () => Answer): MemoryCall<Answer> {
  return { script, run, decode: (reply) => reply as Answer };
}
