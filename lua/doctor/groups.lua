#!lua flags=allow-oom
-- Checks groups: their used slots against the claims, their places, and the existence of the jobs that hold them. Also
-- their spent rate and their rest, which a clock that was ahead may have made.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] '1' to repair
-- ARGV[2..] names
-- Returns, for each fault: name, kind (group | clock), found, expected; for clock, the key and field, found and the
--   latest in ms. Repeated: checks again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/group/place
local reply = {}
local function report(name, found, expected, kind)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = name, kind or 'group', found, expected
end

-- Reports instants whose bounds the group has in their place. touch() writes these.
local function report_ahead(name, group)
  local key = groups .. 'state:' .. name
  local rests_until, tat = unpack(redis.call('HMGET', key, 'rests_until_ms', 'rate_tat_us'))
  if (tonumber(rests_until or nil) or 0) > group.rests_until then
    report(key .. ' rests_until_ms', rests_until, string.format('%.0f', group.rests_until), 'clock')
  end
  if group.rate and group.rate.is_ahead then
    report(key .. ' rate_tat_us', string.format('%.0f', tat / 1000), string.format('%.0f', group.rate.us / 1000), 'clock')
  end
end

-- Slots whose job is not claimed any more, or claimed without this group.
local function phantoms(name)
  local ids = {}
  for _, id in ipairs(redis.call('ZRANGE', groups .. 'running:' .. name, 0, -1)) do
    if not redis.call('ZSCORE', claims, id) or redis.call('HGET', job .. id, 'group') ~= name then
      ids[#ids + 1] = id
    end
  end
  return ids
end

local function is_held_by_nobody(hold)
  return hold and not redis.call('ZSCORE', scheduled, hold) and not redis.call('ZSCORE', dead, hold)
end

local function is_misplaced(name, group)
  local waiting, running = redis.call('ZCARD', groups .. 'waiting:' .. name), redis.call('ZCARD', groups .. 'running:' .. name)
  local is_blocked = group.paused or group.hold or group.max_running and running >= group.max_running
  local is_placed = redis.call('ZSCORE', group_keys.turns, name) or redis.call('ZSCORE', group_keys.gated, name)
  local depth = tonumber(redis.call('ZSCORE', group_keys.depths, name) or nil)
  return waiting > 0 and not is_blocked and not is_placed or (depth or 0) ~= waiting or depth and waiting + running == 0
end

local function is_unknown(name)
  return redis.call('EXISTS', groups .. 'waiting:' .. name) == 1 and redis.call('HEXISTS', settings, 'has_groups') == 0
end

for i = 2, #ARGV do
  local name = ARGV[i]
  if is_unknown(name) then
    report(name, 'jobs that no claim looks for', 'has_groups in settings')
    if ARGV[1] == '1' then
      redis.call('HSET', settings, 'has_groups', '1')
    end
  end
  has_state[name] = redis.call('EXISTS', groups .. 'state:' .. name) == 1
  if has_state[name] and ARGV[1] == '1' then
    redis.call('HSET', group_keys.states, name, '1')
  end
  local group, ids = read_group(name), phantoms(name)
  if group.is_ahead then
    report_ahead(name, group)
  end
  if #ids > 0 then
    report(name, #ids .. ' slots without a claim', 'a slot for each claim')
  end
  local hold = redis.call('HGET', groups .. 'state:' .. name, 'hold')
  if is_held_by_nobody(hold) then
    report(name, 'held by ' .. hold, 'held by a job that is scheduled or dead')
  elseif is_misplaced(name, group) then
    report(name, 'in a wrong place', 'where its next job can be claimed')
  end
  if ARGV[1] == '1' then
    for _, id in ipairs(ids) do
      redis.call('ZREM', groups .. 'running:' .. name, id)
    end
    if is_held_by_nobody(hold) then
      end_hold(name, hold)
    end
    touch(name)
  end
end
place_groups()
return reply
