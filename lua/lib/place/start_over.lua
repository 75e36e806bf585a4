-- start_over(id, key, job_fields): puts an ended job to the back of its line, as new.
-- job_fields: its priority, unique, batch and group
-- It is no longer a plain job, so its completion clears last_error. It holds its unique key again if no other job does.
--   It no longer waits for other jobs. Its options say when it started over, so that a worker knows this run from the last.
-- Needs: lib/batch/end_member, lib/core/clock, lib/core/keys, lib/enqueue/leave_plain, lib/place/requeue,
--   lib/unique/owner.
local function start_over(id, key, job_fields)
  redis.call('HSET', key, 'attempts', 0, 'claimed_at_ms', 0)
  redis.call('HDEL', key, 'after', 'after_delay_ms', 'unmet', 'rate_limited', 'snoozes')
  redis.call('ZREM', awaiting, id)
  leave_plain(key)
  local options = string.gsub(redis.call('HGET', key, 'options'), '^{"startedOverAtMs":%d+,?', '{')
  options = string.gsub(options, '^{', '{"startedOverAtMs":' .. now_text .. ',')
  redis.call('HSET', key, 'options', (string.gsub(options, ',}$', '}')))
  local unique_key = job_fields.unique
  if unique_key and not resolve_unique({ unique = unique_key }) then
    own_unique(id, { unique = unique_key })
  end
  to_back(id, job_fields.priority, job_fields.group)
  if job_fields.batch then
    open_member(id, job_fields.batch)
  end
end
