// Faults planted into the scripts, each of which the simulation must find.
import { edit, plant, type Plant } from './plant.js';
import { clockPlants } from './clock-plants.js';
import { hubPlants } from './hub-plants.js';
import { partPlants } from './part-plants.js';

const SWEEPS = 'sweepReclaim sweepReclaimWorker';

const basePlants: Record<string, Plant> = {
  'an acknowledged job is gone': plant(
    'I1',
    undefined,
    edit(
      'jobEnqueue',
      'return #replies > 0 and replies or nil',
      `for _, id in ipairs(plain) do
        if string.sub(id, -1) == '7' then
          redis.call('LREM', pending, 1, id)
          redis.call('UNLINK', job .. id)
        end
      end
      return #replies > 0 and replies or nil`,
    ),
  ),
  'a job is in two places': plant(
    'I1',
    undefined,
    edit(
      'attemptFail',
      'wait_apart(id, now + backoff, group)',
      "wait_apart(id, now + backoff, group)\n redis.call('LPUSH', pending, id)",
    ),
  ),
  'a sweep leaves the token': plant(
    'I2',
    undefined,
    edit(
      SWEEPS,
      "'claim_token', '', 'claimed_at_ms', 0, 'reclaimed_at_ms'",
      "'claimed_at_ms', 0, 'reclaimed_at_ms'",
    ),
  ),
  'a repeated claim takes more': plant(
    'I3',
    undefined,
    edit('attemptClaim', "if last and string.sub(last, 1, #token + 1) ~= token .. '\\n' then", 'if last then'),
  ),
  'a sweep looks at all jobs': plant(
    'I4',
    undefined,
    edit(
      'sweepReclaim',
      'local taken, ended, is_more = expired_claims(limit)',
      `for _ = 1, 200 do redis.call('LRANGE', completed, 0, -1) end
      local taken, ended, is_more = expired_claims(limit)`,
    ),
  ),
  'a sweep takes claims early': plant(
    'I5',
    undefined,
    edit('sweepReclaim', "'ZRANGE', claims, now, '-inf'", "'ZRANGE', claims, '+inf', '-inf'"),
  ),
  'an error costs no attempt': plant(
    'I6',
    undefined,
    edit(
      'attemptFail',
      'retry(id, backoff, priority, group, message)\n  return',
      "retry(id, backoff, priority, group, message)\n redis.call('HSET', key, 'attempts', attempts - 1)\n return",
    ),
  ),
  // At once it would be claimed for ever, and no time would pass.
  'a job without its hash blocks': plant(
    'I7',
    undefined,
    edit(
      `attemptFail ${SWEEPS}`,
      "if not payload then\n    count('broken_total', 1)",
      `if not payload then
        redis.call('HSET', key, 'status', 'scheduled', 'claim_token', '')
        return redis.call('ZADD', scheduled, now + 1000, id)`,
    ),
  ),
  'the newest job comes first': plant(
    'I8',
    undefined,
    edit('jobEnqueue', "'LPUSH', pending, unpack(plain)", "'RPUSH', pending, unpack(plain)"),
  ),
  'a limit is not kept': plant(
    'limits',
    undefined,
    edit(
      'attemptClaim',
      "max_running - redis.call('ZCARD', claims)",
      "max_running + 1 - redis.call('ZCARD', claims)",
    ),
  ),
  // Paused groups have longer lines.
  'a job that is reclaimed goes to the back of its group': plant(
    'order',
    'limits',
    edit(SWEEPS, 'local keeps = to_front or', 'local keeps = false and'),
  ),
  'a claim looks at all jobs': plant(
    'I4',
    undefined,
    edit(
      'attemptClaim',
      'local reply, replied, name_before =',
      `for _ = 1, 60 do
        redis.call('LRANGE', pending, 0, -1)
        redis.call('ZRANGE', scheduled, 0, -1)
      end
      local reply, replied, name_before =`,
    ),
  ),
  'a claim takes jobs ahead without a bound': plant(
    'ahead',
    undefined,
    edit('attemptClaim', 'worker = tonumber(ARGV[1]),', 'worker = 1000,'),
    edit('attemptClaim', "'RPOP', pending, ARGV[1]", "'RPOP', pending, 1000"),
  ),
  'a batch forgets its members': plant(
    'batch',
    undefined,
    edit(
      'jobEnqueue',
      "redis.call('ZADD', key .. '/open', redis.call('HINCRBY', key, 'joined', 1), member)\n    redis.call('RPUSH'",
      "redis.call('RPUSH'",
    ),
  ),
  'two processes have the right to maintain': plant(
    'right',
    undefined,
    edit('sweepHold', 'if holder and holder ~= process then', 'if false then'),
  ),
  'nobody takes the right of a dead process over': plant(
    'right',
    undefined,
    edit('sweepHold', 'return left > 0 and left <= tonumber(length_text) and holder or nil', 'return holder'),
    edit('sweepHold', "redis.call('PEXPIRE', maintainers, string.format('%.0f', 2 * length))", ''),
  ),
};

export const plants: Record<string, Plant> = {
  ...basePlants,
  ...partPlants,
  ...clockPlants,
  ...hubPlants,
};
