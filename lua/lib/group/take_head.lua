-- end_turn(start, weight, cost): where the turn ends, which is where the next one may start: later by the cost over the weight.
-- take_head(name, start, taken): takes the first job of a group for a claim, where its limits let it.
-- Needs: lib/group/place, lib/limits/room, can_take, which the claim sets.
local latest_finish = 0

local function end_turn(start, weight, cost)
  local finish = start + cost / weight
  virtual_time, latest_finish = start, math.max(latest_finish, finish)
  return string.format('%.17g', finish)
end

-- Answers taken; blocked, where the group has left turns; passed, where the claimer does not handle the head's name; full or unpaid,
-- where the claim ends here.
local function take_head(name, start, taken)
  local group, waiting = read_group(name), groups .. 'waiting:' .. name
  local heads = redis.call('ZRANGE', waiting, 0, 1, 'WITHSCORES')
  local id = heads[1]
  local status, cost = unpack(id and read(job .. id, 'status', 'cost') or {})
  cost = tonumber(cost) or 1
  local running = group.max_running and redis.call('ZCARD', groups .. 'running:' .. name)
  local is_at_limit = running and running >= group.max_running
  if status and status ~= 'pending' then
    redis.call('ZREM', waiting, id) -- ended, or claimed, by whoever wrote it from outside
    id = nil
  end
  if not id or group.paused or group.hold or is_at_limit or opens_at(group, cost) then
    place_group(name)
    return redis.call('ZSCORE', group_keys.turns, name) and 'again' or 'blocked'
  elseif can_take and not can_take(id) then
    return 'passed'
  end
  local bytes = taken.bytes + (tonumber(redis.pcall('HSTRLEN', job .. id, 'payload')) or 0)
  if bytes > most_bytes and #taken > 0 then
    full = true
    return 'full'
  elseif not pay(cost) then
    return 'unpaid'
  end
  taken[#taken + 1], taken.bytes = id, bytes
  redis.call('ZREM', waiting, id)
  if status then
    redis.call('ZADD', groups .. 'running:' .. name, now_text, id) -- a job without a hash holds no slot: its end names no group
    running = running and running + 1
  end
  if group.interval then
    group.tat = group.tat + math.min(cost, group.burst) * group.interval
    group.has_spent = true
    redis.call('HSET', groups .. 'state:' .. name, 'rate_tat_us', string.format('%.0f', group.tat))
  end
  local finish = end_turn(start, group.weight, cost)
  place_group(name, { group = group, head = { heads[3], heads[4] }, running = running or status and 1 or nil, finish = finish })
  return 'taken'
end
