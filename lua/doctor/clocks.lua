#!lua flags=allow-oom
-- Finds instants that the clock of now cannot have made, because it was ahead for a while. A repair writes the bound in
-- their place. docs/internals/clocks.md lists the bounds. lua/doctor/groups and lua/doctor/unique check those of groups
-- and of unique windows.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] '1' to repair
-- ARGV[2] a heartbeat in ms, unless a worker announced the visibility timeout, of which a heartbeat is a third
-- ARGV[3] how many members of each set to pass over, because an earlier call reported them
-- ARGV[4] the most members of each set to read
-- Returns more (1 if a set has more of them), then for each: its key with the field or member, found, latest, both in
--   ms. Repeated: checks again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/retention/announced_queue_limits
--@include lib/limits/largest
local is_repairing, offset, limit = ARGV[1] == '1', tonumber(ARGV[3]), tonumber(ARGV[4])
local heartbeat = announced.visibility and announced.visibility / 3 or tonumber(ARGV[2])
local latest_expiry, next_look = now + math.max(largest_of('longest_visibility_ms'), 60000) + heartbeat, now + 60000
local reply = { 0 }

local function text_of(number)
  return string.format('%.0f', number)
end

local function report(key, part, found, latest)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = key .. ' ' .. part, text_of(found), text_of(latest)
end

-- Checks the scores of a set. +inf is no instant.
local function look_at_set(set, latest, score)
  local ahead = redis.call('ZRANGE', set, '(+inf', '(' .. text_of(latest), 'BYSCORE', 'REV', 'LIMIT', offset, limit, 'WITHSCORES')
  for i = 1, #ahead, 2 do
    report(set, ahead[i], ahead[i + 1], latest)
    if is_repairing then
      redis.call('ZADD', set, text_of(score), ahead[i])
    end
  end
  reply[1] = #ahead == 2 * limit and 1 or reply[1]
end

-- Checks a field of a hash. unit: how many of it are one ms
local function look_at_field(key, field, latest, value, unit)
  local found = tonumber(redis.call('HGET', key, field) or nil)
  if found and found / unit > latest then
    report(key, field, found / unit, latest)
    if is_repairing then
      redis.call('HSET', key, field, text_of(value * unit))
    end
  end
end

--@include lib/core/now_us
--@include lib/limits/rate
local function look_at_limits()
  local rest_ms, limit, period, burst, tat, part, lateness = unpack(redis.call('HMGET', settings, 'rest_ms', 'rate_limit', 'rate_period_ms',
    'rate_burst', 'rate_tat_us', 'rate_part', 'rate_late'))
  if rest_ms then
    look_at_field(settings, 'rests_until_ms', now + tonumber(rest_ms), now + tonumber(rest_ms), 1)
  end
  local rate = read_rate(limit, period, burst, tat, part, lateness)
  if rate and rate.is_ahead then
    report(settings, 'rate_tat_us', tonumber(tat) / 1000, rate.us / 1000)
    if is_repairing then
      write_rate(settings, rate)
    end
  end
end

look_at_set(claims, latest_expiry, now + heartbeat)
look_at_set(batches, next_look, now)
look_at_set(awaiting, next_look, now)
for _, announcements in ipairs({ workers, names, schedule_owners, foreign_claims }) do
  look_at_set(announcements, now, now)
end
if offset == 0 then
  look_at_field(sweep, 'hold_until_ms', latest_expiry, now + heartbeat, 1)
  for _, field in ipairs({ 'last_run_at_ms', 'maintained_at_ms', 'served_since_ms', 'tidied_at_ms', 'adopted_at_ms', 'foreign_seen_at_ms' }) do
    look_at_field(sweep, field, now, now, 1)
  end
  look_at_limits()
end
return reply
