#!lua flags=allow-oom
-- Announces that a worker serves this queue, with its layout, its codec, and its handlers' names and limits. Or
-- announces that it stops. The first announcement counts as a first sweep, so that an outage before that sweep is
-- noticed, see lua/sweep/reclaim.lua. The first live worker also stores since when the queue is served. So a boot is not
-- called unmaintained, see lua/queue/stats.lua. It removes the expiry that a purge set. The last worker of a queue
-- without jobs deletes the announcements, because no sweep may come. A layout newer than that in Redis ends the announcements of
-- all other workers. They announce themselves again within seconds, and those of an older version are refused.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] worker
-- ARGV[2] '1' it serves, '0' it has stopped
-- ARGV[3] the limits of the queue, see lib/retention/announced_queue_limits
-- ARGV[4] the limits that this worker configures, as JSON; '' for none. Limits of another live worker stay, so that
--   replicas that disagree do not alternate. While limits are set at run time these are only stored, for
--   lua/limits/clear
-- ARGV[5] the layout of the keys that this worker knows
-- ARGV[6] the oldest layout whose keys it can use
-- ARGV[7] its codec and redaction, as JSON; that of the last announcement applies, see lua/queue/content
-- ARGV[8..] for each handler: job name, max_attempts:max_crashes
-- Returns the layout in Redis. If it is not one that the worker can use, nothing was written. Repeated: the same.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/retention/forget_idle_queue
--@include lib/limits/write
--@include lib/limits/largest
local function configure_limits()
  local owner, text, is_set = unpack(redis.call('HMGET', settings, 'limits_owner', 'limits_text', 'limits_set'))
  local seen = owner and redis.call('ZSCORE', workers, owner)
  if owner and owner ~= ARGV[1] and seen and tonumber(seen) > now - 30000 or owner == ARGV[1] and text == ARGV[4] then
    return
  end
  if ARGV[4] ~= '' then
    redis.call('HSET', settings, 'limits_owner', ARGV[1], 'limits_text', ARGV[4])
  elseif owner then
    redis.call('HDEL', settings, 'limits_owner', 'limits_text') -- whoever configured them is gone
  end
  if not is_set and (owner or ARGV[4] ~= '') then
    hold_configured_limits()
  end
end

-- Stores since when the queue is served, and the time of the first sweep. A later time than now comes from a clock that
-- was ahead, and is set to now.
local function note_first_run()
  local last_run_at, served_since = unpack(redis.call('HMGET', sweep, 'last_run_at_ms', 'served_since_ms'))
  local are_none_live = redis.call('ZCOUNT', workers, now - 30000, now) == 0
  if are_none_live or (tonumber(served_since or nil) or 0) > now then
    redis.call('HSET', sweep, 'served_since_ms', now_text)
  end
  if not last_run_at or tonumber(last_run_at) > now then
    redis.call('HSET', sweep, 'last_run_at_ms', now_text)
  end
end

local layout, known = tonumber(redis.call('HGET', sweep, 'layout') or 0), tonumber(ARGV[5])
if layout > known or layout > 0 and layout < tonumber(ARGV[6]) then
  return layout
end
if ARGV[2] == '1' then
  if layout > 0 and layout < known then
    redis.call('UNLINK', workers)
  end
  redis.call('HSET', sweep, 'layout', known, 'content', ARGV[7])
  note_first_run()
  redis.call('ZADD', workers, now, ARGV[1])
  redis.call('HSET', retention, '', ARGV[3])
  note_largest('longest_visibility_ms', tonumber(string.match(ARGV[3], 'visibility=(%d+)')) or 0)
  note_largest('largest_payload_bytes', tonumber(string.match(ARGV[3], 'max_payload=(%d+)')) or 0)
  configure_limits()
  for i = 8, #ARGV, 2 do
    local name, limits = ARGV[i], ARGV[i + 1]
    redis.call('HSET', handler_limits, name, limits)
    redis.call('ZADD', names, now, name)
  end
  for _, announced in ipairs({ workers, handler_limits, retention, names }) do
    redis.call('PERSIST', announced)
  end
else
  redis.call('ZREM', workers, ARGV[1])
  if redis.call('HGET', settings, 'limits_owner') == ARGV[1] then
    redis.call('HSET', settings, 'limits_owner', '') -- the next worker that claims replaces its limits, see lua/attempt/claim
  end
  if redis.call('EXISTS', workers) == 0 then
    redis.call('HSET', sweep, 'left_at_ms', now_text)
  end
  forget_idle_queue()
end
return known
