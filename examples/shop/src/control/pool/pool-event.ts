import type { CurrentJob } from './worker-process.js';

/** What happens in the pool, for whoever tells it. `worker` is the name, as `worker-2`. */
export type PoolEvent =
  | { type: 'started' | 'ready' | 'stopped' | 'silent'; worker: string; pid?: number }
  | { type: 'began' | 'hangs'; worker: string; job: CurrentJob }
  | { type: 'killed'; worker: string; pid?: number; job?: CurrentJob }
  | { type: 'died'; worker: string; how: string | number; job?: CurrentJob };
