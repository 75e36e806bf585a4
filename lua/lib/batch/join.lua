-- join(batch, member): makes a job a member of a batch in this queue, unless it is or was one. Returns whether the
--   batch was stopped, so that the job must not run.
-- refusal_of(id, options): returns why a new job cannot join its batch or wait for its `after`, and the cause's id. nil
--   if it can.
-- Needs: batch_record, job.
local most_dependents = 1000

local function is_member(key, member)
  return redis.call('ZSCORE', key .. '/open', member) or redis.call('HEXISTS', key .. '/outcomes', member) == 1
end

local function join(batch, member)
  local key = batch_record .. batch
  if not is_member(key, member) then
    redis.call('HINCRBY', key, 'total', 1)
    redis.call('ZADD', key .. '/open', redis.call('HINCRBY', key, 'joined', 1), member)
    redis.call('RPUSH', key .. '/members', member)
  end
  return redis.call('HEXISTS', key, 'stopped_at_ms') == 1
end

local function batch_refusal(batch, member)
  local created, sealed = unpack(redis.call('HMGET', batch_record .. batch, 'created_at_ms', 'sealed_at_ms'))
  if not created then
    return 'no-batch'
  end
  return sealed and not is_member(batch_record .. batch, member) and 'sealed' or nil
end

local function after_refusal(ids)
  for _, id in ipairs(ids) do
    local status, dependents = unpack(redis.call('HMGET', job .. id, 'status', 'dependents'))
    local _, count = string.gsub(dependents or '', '[^\n]+', '')
    if not status then
      return 'unknown', id
    elseif status == 'failed' or status == 'cancelled' then
      return status, id
    elseif count >= most_dependents then
      return 'crowded', id
    end
  end
end

local function refusal_of(id, options)
  local batch = options.batch
  if batch and not string.find(batch, '\t', 1, true) then
    local reason = batch_refusal(batch, id)
    if reason then
      return reason, batch
    end
  end
  if options.after and redis.call('EXISTS', job .. id) == 0 then
    return after_refusal(options.after)
  end
end
