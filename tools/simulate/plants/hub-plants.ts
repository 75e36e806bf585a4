// Faults of the directed wake and of the looks, also of those in turn. Each lets a job wait beside a free slot.
import { edit, plant, type Plant } from './plant.js';

const WAITERS = "string.sub(wake, 1, -5) .. 'waiters'";

export const hubPlants: Record<string, Plant> = {
  'a worker becomes a waiter in a second call': plant(
    'late',
    'hub',
    edit(
      'attemptClaim',
      "redis.pcall('ZADD', waiters, now_text, worker)",
      "redis.pcall('ZADD', waiters .. ':late', now_text, worker)",
    ),
    edit(
      'attemptClaim',
      "if #ids >= tonumber(ARGV[1]) then\n  redis.pcall('ZREM'",
      `for _, late in ipairs(redis.call('ZRANGE', ${WAITERS} .. ':late', 0, -1)) do
        redis.call('ZADD', ${WAITERS}, now_text, late)
      end
      redis.call('UNLINK', ${WAITERS} .. ':late')
      if #ids >= tonumber(ARGV[1]) then
        redis.pcall('ZREM'`,
    ),
  ),
  'a wake ends at a dead waiter': plant(
    'late',
    'hub',
    edit(
      '*',
      "redis.pcall('SPUBLISH', wake .. ':' .. waiter, 'wake') ~= 0",
      "redis.pcall('SPUBLISH', wake .. ':' .. waiter, 'wake') >= 0",
    ),
  ),
  'a look sees no job': plant(
    'late',
    'hub',
    edit('queueLook', 'reply[#reply + 1], reply[#reply + 2] = first, table.concat(found)', ''),
  ),
  'a sweep sees no claim': plant(
    'late',
    'hub',
    edit(
      'sweepReclaim',
      "local expired = redis.call('ZRANGE', claims, now, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, limit)",
      'local expired = {}',
    ),
  ),
  'nobody takes the turns of a dead worker': plant(
    'turns',
    'turns',
    edit(
      'workerRenew',
      "redis.call('ZRANGE', workers, now_text, since,",
      "redis.call('ZRANGE', workers, now_text, '-inf',",
    ),
  ),
  'all workers have the same turn': plant(
    'turns',
    'turns',
    edit(
      'workerRenew',
      'live[#live + 1] = { found[i], found[i + 1],',
      "live[#live + 1] = { '~' .. found[i], found[i + 1],",
    ),
  ),
};
