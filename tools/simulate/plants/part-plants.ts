// Faults planted into parts of the library that only some runs exercise.
import { edit, plant, type Plant } from './plant.js';

const schedules: Record<string, Plant> = {
  'two processes make one tick': plant(
    'tick',
    'schedules',
    edit(
      'scheduleTick',
      'local is_current = score == due and version == ARGV[i + 2]',
      'local is_current = version == ARGV[i + 2]',
    ),
    edit('scheduleTick', 'if due <= last and last <= now then', 'if false then'),
  ),
  'a tick is left out': plant(
    'tick',
    'schedules',
    edit('scheduleTick', 'set_due(id, key, next_due)', 'set_due(id, key, next_due + 1000)'),
  ),
  'a paused schedule ticks': plant(
    'tick',
    'schedules',
    edit(
      'schedulePause',
      "redis.call('ZADD', schedule_due, '+inf', id)",
      "redis.call('ZADD', schedule_due, now, id)",
    ),
  ),
};

const unique: Record<string, Plant> = {
  'a unique key is forgotten': plant(
    'unique',
    'unique',
    edit('jobEnqueue jobEnqueueNewest', "redis.call('HSET', unique, options.unique, id)", ''),
  ),
  'the time of a unique key ends early': plant(
    'unique',
    'unique',
    edit('jobEnqueue jobEnqueueNewest', 'now + options.unique_for, options.unique', 'now, options.unique'),
  ),
  'an ended job keeps its unique key': plant(
    'unique',
    'unique',
    edit(
      'jobEnqueue jobEnqueueNewest',
      "is_held = key == options.unique and (waiting or status == 'processing' and kind ~= 'pending')",
      'is_held = key == options.unique',
    ),
    edit('attemptComplete', "redis.call('HDEL', unique, unique_key)", ''),
  ),
  'a replaced job keeps its payload': plant(
    'payload',
    'unique',
    edit(
      'jobEnqueue jobEnqueueNewest',
      "'payload', payload, 'status', 'pending', 'attempts', '0'",
      "'status', 'pending', 'attempts', '0'",
    ),
  ),
};

const newest: Record<string, Plant> = {
  'a newer job starts beside the one that it stops': plant(
    'unique',
    'newest',
    edit('jobEnqueueNewest', 'never_ms\n  local verdict', 'never_ms and options.run_at_ms\n  local verdict'),
  ),
  'a debounce has no longest wait': plant(
    'unique',
    'newest',
    edit(
      'jobEnqueueNewest',
      'math.min(now + options.delay_ms, since + options.unique_max_delay)',
      'now + options.delay_ms',
    ),
  ),
};

const after: Record<string, Plant> = {
  'a job does not wait for those before it': plant(
    'after',
    'after',
    edit('jobEnqueue', 'if #open == 0 then\n    return true', 'if true then\n    return true'),
  ),
  'a job waits for itself': plant(
    'I7',
    'after',
    edit('jobEnqueue', "'after', table.concat(open, '\\n')", "'after', id"),
  ),
};

const batches: Record<string, Plant> = {
  'a batch takes a failure for a success': plant(
    'batch',
    'batches',
    edit(
      '*',
      "local is_well = (total or '0') == (completed or '0') and not cancel_requested",
      'local is_well = not cancel_requested',
    ),
  ),
  'a batch goes on after a failure': plant(
    'batch',
    'batches',
    edit('*', "elseif fail_fast and status ~= 'completed' and", 'elseif false and'),
  ),
};

const groups: Record<string, Plant> = {
  'a claim takes a job of a limited group ahead': plant(
    'ahead',
    'groups',
    edit('attemptClaim', 'elseif is_bound and not may_start then', 'elseif false then'),
  ),
};

const growth: Record<string, Plant> = {
  'a batch does not wait for a member of a member': plant(
    'batch',
    'growth',
    edit(
      'jobEnqueue',
      "redis.call('ZADD', key .. '/open', redis.call('HINCRBY', key, 'joined', 1), member)\n    redis.call('RPUSH'",
      `if string.sub(member, -1) ~= '+' then
        redis.call('ZADD', key .. '/open', redis.call('HINCRBY', key, 'joined', 1), member)
      end
      redis.call('RPUSH'`,
    ),
  ),
};

const changes: Record<string, Plant> = {
  'an update is lost': plant(
    'payload',
    'changes',
    edit('jobUpdate', "redis.call('HSET', job .. id, 'payload', payload)", ''),
  ),
  'a job starts before its new time': plant(
    'I5',
    'changes',
    edit(
      'jobReschedule',
      "to_later(id, due)\n  place_groups()\n  return 'scheduled'",
      "start_now(id, priority, group, lifo)\n  return 'scheduled'",
    ),
  ),
  'a job is not run again': plant(
    'again',
    'changes',
    edit(
      'jobRunAgain',
      'start_over(id, key, { priority = priority, unique = unique_key, batch = batch, group = group })',
      `redis.call('HSET', key, 'status', 'completed', 'result', redis.call('HGET', key, 'fence') or '0')
      redis.call('LPUSH', completed, id)`,
    ),
  ),
};

const once: Record<string, Plant> = {
  'an entry gets no mark': plant(
    'once',
    'once',
    edit('onceEnqueue', "redis.call('ZADD', once, unpack(marks))", ''),
  ),
  'a fence is not kept': plant(
    'once',
    'once',
    edit('onceEnqueue', "redis.call('HSET', once_fences, source, fence)", ''),
  ),
  'a mark is made in a second call': plant(
    'once',
    'once',
    edit(
      'onceEnqueue',
      "redis.call('ZADD', once, unpack(marks))",
      "redis.call('ZADD', once .. ':late', unpack(marks))",
    ),
    edit(
      'sweepReclaim',
      'local taken, ended, is_more = expired_claims(limit)',
      `local once = string.sub(sweep, 1, -6) .. 'once:table'
      local late = redis.call('ZRANGE', once .. ':late', 0, -1)
      for _, mark in ipairs(late) do redis.call('ZADD', once, now, mark) end
      redis.call('UNLINK', once .. ':late')
      local taken, ended, is_more = expired_claims(limit)`,
    ),
  ),
};

const elsewhere: Record<string, Plant> = {
  'a follow-up stays in the outbox after its acknowledgement': plant(
    'batch',
    'elsewhere',
    edit('batchAcknowledge', "gone = gone + redis.call('HDEL', batch_outbox, ARGV[i])", 'gone = gone + 1'),
  ),
  'a follow-up leaves the outbox before its queue has it': plant(
    'batch',
    'elsewhere',
    edit(
      'batchFollowUps',
      'if name and fired and bytes <= most_bytes then',
      "if name and fired and bytes <= most_bytes then\n redis.call('HDEL', batch_outbox, ARGV[i])",
    ),
  ),
};

const steps: Record<string, Plant> = {
  'a retry forgets the steps': plant(
    'step',
    'steps',
    edit(
      'attemptFail',
      "count('retried_total', 1)",
      "count('retried_total', 1)\n redis.call('HDEL', job .. id, 'steps')",
    ),
  ),
  'a crash forgets the steps': plant(
    'step',
    'steps',
    edit(
      'sweepReclaim sweepReclaimWorker',
      "redis.call('HDEL', key, 'death', 'died_at_ms')",
      "redis.call('HDEL', key, 'death', 'died_at_ms', 'steps')",
    ),
  ),
};

const streams: Record<string, Plant> = {
  'a stale attempt adds to a stream': plant(
    'stream',
    'streams',
    edit('streamWrite', 'if current ~= token then', 'if not current then'),
  ),
  'a repeated write adds its chunks twice': plant(
    'stream',
    'streams',
    edit('streamWrite', 'state.done - (first - 1)', '0'),
  ),
  'a reader gets the first chunk of a page again': plant(
    'stream',
    'streams',
    edit('streamRead', 'entry[1], entry[2][1], entry[2][2]', 'entry[1], entry[2][1], entries[1][2][2]'),
  ),
};

const sharing: Record<string, Plant> = {
  'a shared limit lets one more run': plant(
    'sharing',
    'sharing',
    edit('*', 'max_running - redis.call', 'max_running + 1 - redis.call'),
  ),
  'a job keeps its permit when it has ended': plant(
    'sharing',
    'sharing',
    edit('sharedLimitGiveBack', "redis.call('ZREM', permits, holder .. ARGV[i]) == 1", 'ended < 0'),
  ),
  'a running job loses its permit of a shared limit': plant(
    'sharing',
    'sharing',
    edit(
      'sharedLimitLease',
      "string.format('%.0f', now + life), holder .. i",
      "string.format('%.0f', now + 20), holder .. i",
    ),
  ),
};

const others: Record<string, Plant> = {
  'two jobs of a call swap their results': plant(
    'I2',
    'bulk',
    edit(
      'attemptComplete',
      'local id, fence, result = ARGV[i], ARGV[i + 1], ARGV[i + 2]',
      'local id, fence, result = ARGV[i], ARGV[i + 1], i + 5 <= last and ARGV[i + 5] or ARGV[i + 2]',
    ),
  ),
  'a checkpoint is lost': plant(
    'checkpoint',
    'checkpoints',
    edit('attemptCheckpoint', "redis.call('HSET', job .. id, 'checkpoint', ARGV[3])", ''),
  ),
  'a claim takes a job of a paused group': plant(
    'limits',
    'limits',
    edit('*', 'paused = not paused_until and paused_at,', 'paused = nil,'),
  ),
  'an enqueue loses its metadata': plant(
    'middleware',
    'middleware',
    edit(
      'jobEnqueue',
      'if worker then\n',
      `if worker then\n worker = string.gsub(worker, '"marks":"ab"', '"marks":"a"')\n`,
    ),
  ),
  'the trail misses a retry': plant(
    'audit',
    'audit',
    edit('attemptFail', "if field == 'status' then", "if field == 'status' and value ~= 'scheduled' then"),
  ),
};

export const partPlants: Record<string, Plant> = {
  ...schedules,
  ...unique,
  ...newest,
  ...after,
  ...batches,
  ...changes,
  ...once,
  ...growth,
  ...elsewhere,
  ...steps,
  ...streams,
  ...sharing,
  ...groups,
  ...others,
};
