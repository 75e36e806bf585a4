-- end_batch(batch, key): the follow-ups have ended. Deletes their payloads and the outcomes. The record lives its
--   record_ttl_ms more, a week by default. Beyond the last thousand of the queue one with a random id lives only as long as
--   the outcomes. An id that the caller chose is known for its time. `batches_ended` has the ids of these records for lists. A wrong type of this or of batches_by_age
--   ends no step.
-- forget_follow_up(key, kind): deletes the payload of a follow-up. A follow-up that waits in the outbox keeps it, until the
--   sender acknowledges it.
-- Needs: batch_outbox, batch_record, batches, lib/core/clock.
--@include lib/batch/by_age
--@include lib/batch/outbox_place
local record_ms, most_ended, dropped_at_once = 604800000, 1000, 200

local function forget_follow_up(key, kind)
  redis.call('HDEL', key, kind .. '_payload', kind .. '_options')
end

-- Drops the ids over the cap.
local function drop_oldest(ended)
  local excess = redis.call('ZCARD', ended) - most_ended
  for _, old in ipairs(excess > 0 and redis.call('ZRANGE', ended, 0, math.min(excess, dropped_at_once) - 1) or {}) do
    local found = redis.pcall('HMGET', batch_record .. old, 'ended_at_ms', 'result_ttl_ms', 'has_own_id')
    if not found[3] then
      local until_ms = (tonumber(found[1] or nil) or 0) + (tonumber(found[2] or nil) or 0)
      redis.call('PEXPIRE', batch_record .. old, string.format('%d', math.max(1, until_ms - now)), 'LT')
    end
    redis.call('ZREM', ended, old)
  end
end

local function note_ended(batch, lives_ms)
  local ended = batches .. '_ended'
  if type(redis.pcall('ZADD', ended, now_text, batch)) == 'number' then
    redis.call('ZREMRANGEBYSCORE', ended, '-inf', now - record_ms)
    drop_oldest(ended)
    if redis.call('PTTL', ended) < lives_ms then
      redis.call('PEXPIRE', ended, string.format('%d', lives_ms))
    end
  end
end

local function end_batch(batch, key)
  local result_ttl, record_ttl, then_elsewhere, on_failure_elsewhere, finally_elsewhere = unpack(redis.call('HMGET', key,
    'result_ttl_ms', 'record_ttl_ms', 'then_elsewhere', 'on_failure_elsewhere', 'finally_elsewhere'))
  local elsewhere = { ['then'] = then_elsewhere, on_failure = on_failure_elsewhere, finally = finally_elsewhere }
  for _, kind in ipairs({ 'then', 'on_failure', 'finally' }) do
    local place = elsewhere[kind] and outbox_place(batch, elsewhere[kind])
    if not place or redis.call('HEXISTS', batch_outbox, place) == 0 then
      forget_follow_up(key, kind)
    end
  end
  local outcomes_ms = tonumber(result_ttl or nil) or 300000
  local lives_ms = math.max(outcomes_ms, tonumber(record_ttl or nil) or record_ms)
  redis.call('HSET', key, 'ended_at_ms', now_text)
  redis.call('UNLINK', key .. '/open')
  for _, part in ipairs({ '/members', '/outcomes', '/seen' }) do
    redis.call('PEXPIRE', key .. part, string.format('%d', outcomes_ms))
  end
  redis.call('PEXPIRE', key, string.format('%d', lives_ms))
  redis.pcall('ZREM', batches_by_age, batch)
  redis.call('ZREM', batches, batch)
  note_ended(batch, lives_ms)
end
