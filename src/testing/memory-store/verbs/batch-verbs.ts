import type { BatchVerbs } from '../../../queue/store/batch-verbs.js';
import { callOf } from './memory-call.js';

function refuse(): never {
  throw new Error(
    'A store in memory keeps no batches with a follow-up, and no jobs that wait for others; test them on Redis.',
  );
}

/** Batches are not kept in memory. */
export function batchVerbs(): BatchVerbs {
  return {
    create: () => callOf('batchCreate', refuse),
    join: () => callOf('batchJoin', refuse),
    seal: () => callOf('batchSeal', refuse),
    stop: () => callOf('batchStop', refuse),
    status: () => callOf('batchStatus', refuse),
    list: () => callOf('batchList', () => []),
    results: () => callOf('batchResults', refuse),
    tend: () => callOf('sweepTendBatches', () => undefined),
    news: () => callOf('batchOutbox', () => []),
    deliver: () => callOf('batchDeliver', refuse),
    acknowledge: () => callOf('batchAcknowledge', refuse),
    cancel: () => callOf('batchCancel', refuse),
  };
}
