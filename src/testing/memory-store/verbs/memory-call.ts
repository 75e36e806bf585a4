import type { StoreCall } from '../../../queue/store/store-call.js';

/** A call of a store in memory. */
export interface MemoryCall<Answer> extends StoreCall<Answer> {
  /** Takes the step. The answer is a copy: what a caller does to it changes no state. */
  run(): Answer;
}

export function callOf<Answer>(script: string, run: () => Answer): MemoryCall<Answer> {
  return { script, run, decode: (reply) => reply as Answer };
}
