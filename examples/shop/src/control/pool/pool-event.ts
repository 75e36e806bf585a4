/** What a worker works on, as it said itself. */
export interface CurrentJob {
  id: string;
  name: string;
  label: string;
  attempt: number;
  since: number;
}

/** What happens in the pool, for whoever tells it. `worker` is the name, as `worker-2`. */
export type PoolEvent =
  | { type: 'ready'; worker: string; pid?: number }
  /** In order; `job` is what it gave back. */
  | { type: 'stopped'; worker: string; job?: CurrentJob }
  | { type: 'began' | 'hangs'; worker: string; job: CurrentJob }
  | { type: 'killed'; worker: string; pid?: number; job?: CurrentJob }
  /** Killed by its supervisor, because it hung or did not stop in time. */
  | { type: 'silent'; worker: string; pid?: number; why: string; job?: CurrentJob }
  | { type: 'died'; worker: string; pid?: number; how: string | number; job?: CurrentJob };
