-- job_end_of(id): returns how a job has ended, and its result or reason; nil before its end.
-- maintain_member(batch, member, fired, stopped): notes the end of one member, or cancels it if the batch was stopped. Replies with a
--   member in another queue, which the caller asks. A follow-up in the outbox is not there yet.
-- maintain_batch(batch, limit): maintains a slice of the open members, from where the last call ended. Returns how many it
--   looked at, and 1 for the batch.
-- Needs: reply, lib/batch/by_age, lib/batch/cancel_member, lib/batch/end_batch, lib/batch/end_member,
--   lib/batch/follow_up, lib/batch/outbox_place, lib/core/clock, lib/core/keys, lib/core/read.
local look_ms = 60000 -- how often all members of a batch are checked
local unsealed_ms = 604800000
local ended_states = { completed = true, failed = true, cancelled = true }

local function job_end_of(id)
  local status, result, last_error = unpack(read(job .. id, 'status', 'result', 'last_error'))
  if not status then
    return 'removed', ''
  end
  return ended_states[status] and status, status == 'failed' and last_error or result or ''
end

local function maintain_member(batch, member, fired, stopped)
  if string.find(member, '\t', 1, true) then
    if not fired or redis.call('HEXISTS', batch_outbox, outbox_place(batch, member)) == 0 then
      local elsewhere = reply[stopped and not fired and 5 or 4]
      elsewhere[#elsewhere + 1], elsewhere[#elsewhere + 2] = batch, member
    end
    return
  end
  local status, detail = job_end_of(member)
  if status and not (fired and status == 'failed') then
    note_end(batch, member, status, detail)
  elseif stopped and not status and not fired then
    cancel_member(member)
  end
end

local function maintain_batch(batch, limit)
  local key = batch_record .. batch
  local created, sealed, fired, stopped, from = unpack(redis.call('HMGET', key, 'created_at_ms', 'sealed_at_ms',
    'fired_at_ms', 'stopped_at_ms', 'maintained'))
  if not created or not sealed and now - tonumber(created) > unsealed_ms then
    redis.call('UNLINK', key, key .. '/open', key .. '/members', key .. '/outcomes', key .. '/seen')
    redis.pcall('ZREM', batches_by_age, batch)
    redis.call('ZREM', batches, batch)
    return 1
  end
  redis.pcall('ZADD', batches_by_age, 'NX', created, batch) -- it may be missing after a step that broke off
  redis.call('ZADD', batches, now + look_ms, batch)
  local members = redis.call('ZRANGE', key .. '/open', '(' .. (from or '-1'), '+inf', 'BYSCORE', 'LIMIT', 0, limit,
    'WITHSCORES')
  for i = 1, #members, 2 do
    maintain_member(batch, members[i], fired, stopped)
  end
  if #members == 2 * limit then
    redis.call('HSET', key, 'maintained', members[#members])
    redis.call('ZADD', batches, 'XX', 0, batch)
  else
    redis.call('HDEL', key, 'maintained')
    if sealed and #members == 0 and redis.call('EXISTS', key .. '/open') == 0 then
      local end_it = fired and end_batch or fire -- no open member is left to do so
      end_it(batch, key)
    end
  end
  return #members / 2 + 1
end
