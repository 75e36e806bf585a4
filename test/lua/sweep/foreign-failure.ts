import type { TestQueue } from '../../support/queue/queue-state.js';

/** Leaves what a client of the Redis pattern leaves of a job whose attempts are used up. */
export async function foreignFailure(q: TestQueue, id: string): Promise<void> {
  await q.redis.hset(q.keys.job(id), {
    id,
    payload: '{}',
    status: 'failed',
    last_error: 'no',
    claim_token: 'left',
  });
  await q.redis.expire(q.keys.job(id), 300);
  await q.redis.lpush(q.keys.failed, id);
}
