#!lua flags=allow-oom
-- Checks batches with a follow-up: each must be in batches until it has ended, fire once it can, and expire.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] '1' to repair
-- ARGV[2] how long the rest of a batch stays, in ms
-- ARGV[3..] batches
-- Returns, for each fault: batch, found, expected. Repeated: checks again.
--@include lib/core/keys
--@include lib/batch/by_age
local reply = {}
local is_repairing = ARGV[1] == '1'

local function report(batch, found, expected)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = batch, found, expected
end

-- Lets the next sweep look at the batch, and fire or end it where it can.
local function let_the_sweep_look(batch)
  redis.call('PERSIST', batch_record .. batch)
  redis.call('ZADD', batches, 0, batch)
end

local function leave_to_expiry(batch)
  local is_endless = false
  for _, part in ipairs({ '', '/open', '/members', '/outcomes', '/seen', '/early' }) do
    local key = batch_record .. batch .. part
    if redis.call('PTTL', key) == -1 then
      is_endless = true
      if is_repairing then
        redis.call('PEXPIRE', key, ARGV[2], 'NX')
      end
    end
  end
  return is_endless
end

local function look_at_over(batch, is_listed)
  local set = is_listed and 'batches' or redis.call('ZSCORE', batches_by_age, batch) and 'batches_by_age'
  if set then
    report(batch, 'in ' .. set .. ', and it has ended or is gone', 'only those that have not ended')
    if is_repairing then
      redis.call('ZREM', batches_by_age, batch)
      redis.call('ZREM', batches, batch)
    end
  end
  if leave_to_expiry(batch) then
    report(batch, 'no expiry', 'one, as it has ended or is gone')
  end
end

for i = 3, #ARGV do
  local batch = ARGV[i]
  local key = batch_record .. batch
  local created, sealed, fired, ended = unpack(redis.call('HMGET', key, 'created_at_ms', 'sealed_at_ms', 'fired_at_ms',
    'ended_at_ms'))
  local is_listed = redis.call('ZSCORE', batches, batch)
  if not created or ended then
    look_at_over(batch, is_listed)
  else
    local is_stuck = sealed and redis.call('EXISTS', key .. '/open') == 0
    if not is_listed then
      report(batch, 'it has not ended, and no sweep looks at it', 'in batches')
    elseif is_stuck and fired then
      report(batch, 'fired, and no follow-up is open', 'its end')
    elseif is_stuck then
      report(batch, 'sealed, all members have ended, and nothing follows', 'its follow-ups are enqueued')
    end
    if is_repairing and (is_stuck or not is_listed) then
      let_the_sweep_look(batch)
    end
  end
end
return reply
