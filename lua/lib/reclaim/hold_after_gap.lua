-- is_held(): notes this run of the sweep. Returns whether it waits, because the server was away.
-- ARGV, from first on: see lua/sweep/reclaim.
-- Needs: broken_ms, limit, lib/core/clock, lib/core/keys, lib/retention/announced_queue_limits,
--   lib/retention/retention_args.
--@include lib/limits/largest
--@include lib/core/bring_back
local most_holds = 3
local reconnect_ms = 2500 -- a worker pauses for two seconds at most between two attempts to connect

-- Returns whether the caller has looked at this queue for a heartbeat, until now.
local function is_watched(gap, wait)
  local from, to = tonumber(ARGV[first + 4]), tonumber(ARGV[first + 5])
  return from and to and from <= now - wait and to <= now and now - to <= gap
end

local function is_held()
  local gap, wait = tonumber(ARGV[first + 1]), announced.visibility and announced.visibility / 3 or tonumber(ARGV[first + 2])
  local last_run_at, hold_until, holds = unpack(redis.call('HMGET', sweep, 'last_run_at_ms', 'hold_until_ms', 'holds'))
  hold_until, holds = tonumber(hold_until) or 0, tonumber(holds or nil) or 0
  wait = wait + reconnect_ms
  local latest = now + math.max(largest_of('longest_visibility_ms'), broken_ms) + wait
  local is_after_gap = last_run_at and now - last_run_at > gap and not is_watched(gap, wait - reconnect_ms)
  if is_after_gap and holds < most_holds or hold_until > latest then
    hold_until, holds = now + wait, holds + 1
  end
  local since_outage = tonumber(ARGV[first + 6])
  if since_outage and since_outage < wait then
    hold_until = math.max(hold_until, now + wait - since_outage)
  end
  bring_back(claims, latest, now + wait, limit)
  redis.call('HSET', sweep, 'last_run_at_ms', now_text, 'hold_until_ms', string.format('%.0f', hold_until), 'holds', now < hold_until and holds or 0)
  if ARGV[first + 3] ~= '' then
    redis.call('HSET', sweep, 'maintained_at_ms', now_text, 'every_ms', ARGV[first + 3])
  end
  return now < hold_until
end
