import { oneOf, rowsOf } from './check-reply.js';
import type { ReclaimedJob } from '../store/call-outcomes.js';

/** Decodes groups of id, status and worker. */
export function decodeReclaimed(fields: unknown): ReclaimedJob[] {
  return rowsOf(fields, 3).map(([id, status, worker]) => ({
    id: id!,
    status: RECLAIMED(status),
    ...(worker !== '' && { worker: worker! }),
  }));
}

const RECLAIMED = oneOf('pending', 'failed', 'cancelled');
