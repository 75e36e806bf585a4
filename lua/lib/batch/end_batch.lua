-- end_batch(batch, key): the follow-ups have ended. Deletes the outcomes, and keeps the record for a week. `batches_ended`
--   has the ids of these records for lists, the last thousand. A wrong type of this or of batches_by_age ends no step.
-- Needs: batches, lib/core/clock.
--@include lib/batch/by_age
local record_ms, most_ended = 604800000, 1000

local function note_ended(batch)
  local ended = batches .. '_ended'
  if type(redis.pcall('ZADD', ended, now_text, batch)) == 'number' then
    redis.call('ZREMRANGEBYSCORE', ended, '-inf', now - record_ms)
    redis.call('ZREMRANGEBYRANK', ended, 0, -most_ended - 1)
    redis.call('PEXPIRE', ended, record_ms)
  end
end

local function end_batch(batch, key)
  local result_ttl = redis.call('HGET', key, 'result_ttl_ms')
  redis.call('HSET', key, 'ended_at_ms', now_text)
  redis.call('UNLINK', key .. '/open')
  for _, part in ipairs({ '/members', '/outcomes', '/seen' }) do
    redis.call('PEXPIRE', key .. part, result_ttl or 300000)
  end
  redis.call('PEXPIRE', key, record_ms)
  redis.pcall('ZREM', batches_by_age, batch)
  redis.call('ZREM', batches, batch)
  note_ended(batch)
end
