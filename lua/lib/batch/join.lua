-- join(batch, member): makes a job a member of a batch in this queue, unless it is or was one. Returns whether the
--   batch was stopped, so that the job must not run.
-- batch_refusal(batch, member, adder): returns why a job cannot join, or nil. A sealed batch takes the jobs that one of its
--   open members adds. That member is the adder; nil for none.
-- Needs: batch_record.
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

local function batch_refusal(batch, member, adder)
  local key = batch_record .. batch
  local created, sealed, fired = unpack(redis.call('HMGET', key, 'created_at_ms', 'sealed_at_ms', 'fired_at_ms'))
  if not created then
    return 'no-batch'
  elseif not sealed or is_member(key, member) then
    return nil
  end
  return (fired or not adder or not redis.call('ZSCORE', key .. '/open', adder)) and 'sealed' or nil
end
