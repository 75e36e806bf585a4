/** The current job of a worker, as it reported. */
export interface CurrentJob {
  id: string;
  name: string;
  label: string;
  attempt: number;
  since: number;
}

/** Events of the pool. `worker` is the name, such as `worker-2`. */
export type PoolEvent =
  | { type: 'ready'; worker: string; pid?: number }
  /** Stopped in order. `job` is the job that it released. */
  | { type: 'stopped'; worker: string; job?: CurrentJob }
  | { type: 'began' | 'hangs'; worker: string; job: CurrentJob }
  | { type: 'killed'; worker: string; pid?: number; job?: CurrentJob }
  /** Killed by its supervisor, because it hung or did not stop in time. */
  | { type: 'silent'; worker: string; pid?: number; why: string; job?: CurrentJob }
  | { type: 'died'; worker: string; pid?: number; how: string | number; job?: CurrentJob };
