/** The options of a job as a queue encodes them. */
export interface AskedOptions {
  cost?: number;
  priority?: number;
  max_attempts?: number;
  max_crashes?: number;
  expires_in_ms?: number;
  delay_ms?: number;
  run_at_ms?: number;
  group?: string;
  /** JSON of its group's limits in code; '' for none. */
  group_limits?: string;
  unique?: string;
  unique_for?: 'pending' | 'unfinished' | number;
  unique_replace?: boolean;
  request?: string;
  lifo?: boolean;
  worker?: string;
  batch?: string;
  after?: string[];
  /** Why a job of another queue cannot be waited for, and that job. */
  after_refusal?: [reason: 'unknown' | 'failed' | 'cancelled' | 'crowded', about: string];
}
