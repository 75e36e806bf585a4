import type { QueueCalls } from '../scripts/all-calls.js';
import type { RedisClient } from '../redis/redis-client.js';
import type { ScriptCall } from '../transport/script-runner.js';

/** The Redis of the audited queue. No step on it may hang. */
export interface AuditedRedis {
  readonly client: RedisClient;
  run<Reply>(call: ScriptCall<Reply>): Promise<Reply>;
  ask<Reply>(question: () => Promise<Reply>): Promise<Reply>;
  /** Returns the calls of another queue with the same options. */
  open(name: string): Promise<QueueCalls>;
}
