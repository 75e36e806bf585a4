-- stop_running(owner, id, name, payload, options): asks the running owner of a unique key to stop, and adds this newer job. It
--   waits for the end of the older one, and owns the key from now on. Returns as add_with_options.
-- Needs: lib/core/clock, lib/core/keys, lib/newest/wait_for.
local nudge_ms = 10000 -- a worker that does not read it by then learns of it from its heartbeat

-- Asks for a cancel, as lua/job/cancel does. The first of several newer jobs is the reason.
local function request_stop(owner, by)
  local worker, token = unpack(redis.call('HMGET', job .. owner, 'worker', 'claim_token'))
  if redis.call('HSETNX', job .. owner, 'cancel_requested_at_ms', now_text) == 1 then
    redis.call('HSET', job .. owner, 'superseded_by', by)
  end
  if worker and token and token ~= '' then
    redis.call('ZADD', nudge .. worker, 1, 'cancel')
    redis.call('PEXPIRE', nudge .. worker, nudge_ms)
--@cluster lib/waiters/tell_cancel
  end
end

local function stop_running(owner, id, name, payload, options)
  local key = options.unique
  local held_until = redis.call('ZSCORE', unique_expiries, key)
  redis.call('HDEL', unique, key)
  redis.call('ZREM', unique_expiries, key)
  local verdict, detail, known_name = add_behind(owner, id, name, payload, options)
  if not verdict then
    request_stop(owner, id)
    return
  end
  redis.call('HSET', unique, key, owner) -- no room for the newer one
  if held_until then
    redis.call('ZADD', unique_expiries, held_until, key)
  end
  return verdict, detail, known_name
end
