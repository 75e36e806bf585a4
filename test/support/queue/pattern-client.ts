// A client that follows the job-queue pattern of the Redis documentation, with its own commands and scripts. It uses
// the client's clock, no name and no wake marker, and claims in two steps (move, then HSET). It shares no code with
// ours.
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';

const COMPLETE = `
local meta = KEYS[1] .. ARGV[1]
if redis.call('HGET', meta, 'claim_token') ~= ARGV[2] then return 0 end
redis.call('LREM', KEYS[2], 1, ARGV[1])
redis.call('HSET', meta, 'status', ARGV[3], 'completed_at_ms', ARGV[4], 'result', ARGV[5])
redis.call('EXPIRE', meta, ARGV[6])
redis.call('LPUSH', KEYS[3], ARGV[1])
redis.call('LTRIM', KEYS[3], 0, ARGV[7] - 1)
return 1`;

const FAIL = `
local meta = KEYS[1] .. ARGV[1]
if redis.call('HGET', meta, 'claim_token') ~= ARGV[2] then return 0 end
redis.call('LREM', KEYS[2], 1, ARGV[1])
redis.call('HSET', meta, 'last_error', ARGV[3], 'last_error_at_ms', ARGV[4])
if ARGV[7] == '1' then
  redis.call('HSET', meta, 'status', 'pending', 'claim_token', '', 'claimed_at_ms', 0)
  redis.call('LPUSH', KEYS[3], ARGV[1])
  return 1
end
redis.call('HSET', meta, 'status', 'failed')
redis.call('LPUSH', KEYS[4], ARGV[1])
redis.call('LTRIM', KEYS[4], 0, ARGV[6] - 1)
redis.call('EXPIRE', meta, ARGV[5])
return 2`;

const RECLAIM = `
local reclaimed = {}
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  local meta = KEYS[3] .. id
  local claimed, enqueued = unpack(redis.call('HMGET', meta, 'claimed_at_ms', 'enqueued_at_ms'))
  claimed, enqueued = tonumber(claimed) or 0, tonumber(enqueued) or 0
  local now, visibility = tonumber(ARGV[1]), tonumber(ARGV[2])
  local stale = claimed > 0 and now - claimed > visibility or claimed == 0 and now - enqueued > 2 * visibility
  if stale then
    redis.call('LREM', KEYS[2], 1, id)
    redis.call('LPUSH', KEYS[1], id)
    redis.call('HSET', meta, 'status', 'pending', 'reclaimed_at_ms', now, 'claim_token', '', 'claimed_at_ms', 0)
    reclaimed[#reclaimed + 1] = id
  end
end
return reclaimed`;

export interface PatternOptions {
  visibilityMs?: number;
  completedTtlSeconds?: number;
  history?: number;
  maxAttempts?: number;
  /** The command by which clients of the various languages take a job. */
  move?: 'BLMOVE' | 'BRPOPLPUSH';
  /** The offset of the client's clock, in ms. */
  clockOffMs?: number;
}

export interface PatternJob {
  id: string;
  payload: unknown;
  attempts: number;
  token: string;
}

export class PatternClient {
  private readonly key: (name: string) => string;
  private readonly options: Required<PatternOptions>;

  /** @param blocking a separate connection for the blocking move */
  constructor(
    private readonly redis: Redis,
    private readonly blocking: Redis,
    queue: string,
    options: PatternOptions = {},
  ) {
    this.key = (name) => `queue:${queue}:${name}`;
    this.options = {
      visibilityMs: 5_000,
      completedTtlSeconds: 300,
      history: 50,
      maxAttempts: 3,
      move: 'BLMOVE',
      clockOffMs: 0,
      ...options,
    };
  }

  async enqueue(payload: unknown): Promise<string> {
    const id = randomBytes(8).toString('hex');
    await this.redis.hset(this.jobKey(id), {
      id,
      payload: JSON.stringify(payload),
      status: 'pending',
      attempts: 0,
      enqueued_at_ms: this.now(),
      claim_token: '',
    });
    await this.redis.lpush(this.key('pending'), id);
    return id;
  }

  /** Makes the first step of a claim: a client that dies after it has written no token and no time. */
  async move(timeoutMs: number): Promise<string | null> {
    const [pending, processing, seconds] = [this.key('pending'), this.key('processing'), timeoutMs / 1_000];
    return this.options.move === 'BLMOVE'
      ? this.blocking.blmove(pending, processing, 'RIGHT', 'LEFT', seconds)
      : this.blocking.brpoplpush(pending, processing, seconds);
  }

  async claim(timeoutMs = 1_000): Promise<PatternJob | null> {
    const id = await this.move(timeoutMs);
    if (id === null) return null;
    const token = randomBytes(8).toString('hex');
    await this.redis.hset(this.jobKey(id), {
      status: 'processing',
      claimed_at_ms: this.now(),
      claim_token: token,
    });
    await this.redis.hincrby(this.jobKey(id), 'attempts', 1);
    const hash = await this.redis.hgetall(this.jobKey(id));
    return { id, token, payload: JSON.parse(hash.payload!) as unknown, attempts: Number(hash.attempts) };
  }

  async complete(job: PatternJob, result: unknown): Promise<boolean> {
    const { completedTtlSeconds, history } = this.options;
    const keys = [this.key('job:'), this.key('processing'), this.key('completed')];
    const args = ['completed', this.now(), JSON.stringify(result), completedTtlSeconds, history];
    const reply = await this.redis.eval(COMPLETE, 3, ...keys, job.id, job.token, ...args);
    if (reply === 1) await this.publish(job.id, 'completed');
    return reply === 1;
  }

  async fail(job: PatternJob, error: string): Promise<'lost' | 'retry' | 'failed'> {
    const { completedTtlSeconds, history, maxAttempts } = this.options;
    const keys = [this.key('job:'), this.key('processing'), this.key('pending'), this.key('failed')];
    const retry = job.attempts < maxAttempts ? '1' : '0';
    const args = [error, this.now(), completedTtlSeconds, history, retry];
    const reply = await this.redis.eval(FAIL, 4, ...keys, job.id, job.token, ...args);
    const outcome = (['lost', 'retry', 'failed'] as const)[reply as 0 | 1 | 2];
    if (outcome !== 'lost') await this.publish(job.id, outcome);
    return outcome;
  }

  /** Runs the pattern's own sweep. */
  async reclaim(): Promise<string[]> {
    const keys = [this.key('pending'), this.key('processing'), this.key('job:')];
    return (await this.redis.eval(RECLAIM, 3, ...keys, this.now(), this.options.visibilityMs)) as string[];
  }

  private now(): number {
    return Date.now() + this.options.clockOffMs;
  }

  private jobKey(id: string): string {
    return this.key(`job:${id}`);
  }

  private async publish(id: string, status: string): Promise<void> {
    await this.redis.publish(this.key('events'), JSON.stringify({ id, status }));
  }
}
