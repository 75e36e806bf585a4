-- end_turn(start, weight, cost): returns the end of the turn, where the next may start. It is later by the cost over
--   the weight.
-- take_head(name, start, taken, may_start): takes the first job of a group for a claim, if its limits allow it. A group
--   with a limit gives none that may not start at once. taken.is_bound: the claim met such a group.
-- Needs: full, groups, known_jobs, most_bytes, lib/core/clock, lib/group/depth, lib/group/line_and_slots,
--   lib/group/padding, lib/group/place, lib/group/scores, lib/group/state, lib/limits/slots_and_rate,
--   lib/turn/claim_others.
--@include lib/turn/head
local latest_finish = 0

local function end_turn(start, weight, cost)
  local finish = start + cost / weight
  virtual_time = start
  latest_finish = math.max(latest_finish, finish)
  return finish
end

local function spend(name, group, cost)
  if group.interval then
    group.tat, group.has_spent = group.tat + math.min(cost, group.burst) * group.interval, true
    mark_state(name)
    redis.call('HSET', groups .. 'state:' .. name, 'rate_tat_us', string.format('%.0f', group.tat))
  end
end

-- Puts a group where it belongs after its turn. Returns whether it is in turns again.
local function place_after_turn(name, group, has_slot, finish)
  local depth, running = (tonumber(score_in(sets.depths, name) or nil) or 0) - 1, nil
  if depth < 1 then
    depth = redis.call('ZCARD', groups .. 'waiting:' .. name)
  end
  if depth == 0 then
    note_head(name, nil)
  end
  running = not group.max_running and has_slot and 1 or slots_in_use(name) -- without a limit: whether there is one
  note_depth(name, depth, running)
  local id = depth > 0 and group.interval and redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, 0)[1]
  place_known_group(name, group, depth, running, id, score_text(finish), group.has_spent)
  return sets.turns.scores[name]
end

-- Takes the first job of a group's line. Only reads it if limits or a name may leave it there. Returns its id and rank,
-- the error of a line that another client has spoilt, its fields and its cost.
local function first_in_line(name, waiting, may_stay)
  local head = may_stay and redis.pcall('ZRANGE', waiting, 0, 0, 'WITHSCORES') or redis.pcall('ZPOPMIN', waiting)
  local id, found, cost = head[1], nil, nil
  if id then
    found, cost = look_at_job(name, id)
  end
  if found and found[6] and found[6] ~= 'pending' then -- ended, or claimed, from outside
    redis.call('ZREM', waiting, id)
    id = nil
  end
  return id, head[2], head.err, found, cost
end

-- Returns taken, and where its next turn may start, nil if it has left turns.
-- Else blocked: the group has left turns. again: it may still run. passed: the claimer does not handle the head's name,
--   or another client has spoilt a key of the group.
--   full, unpaid, unslotted: the claim ends here.
local function take_head(name, start, taken, may_start)
  local group, waiting = read_group(name), groups .. 'waiting:' .. name
  local running = not group.max_running and 0 or known_slots[name] or redis.pcall('ZCARD', slots_of(name))
  running = type(running) == 'number' and running or nil -- another client may have spoilt the key
  local is_bound = group.max_running or group.interval
  local may_stay = can_take or interval or group.interval or group.waits_until > now or is_bound and not may_start
  local is_blocked = group.paused or group.hold or running and group.max_running and running >= group.max_running
  local id, rank, broken, found, cost = nil, nil, not running, nil, nil
  if not is_blocked and running then
    id, rank, broken, found, cost = first_in_line(name, waiting, may_stay)
  end
  if broken then
    return 'passed'
  elseif not id or may_stay and opens_at(group, cost) then
    place_group(name, {})
    return score_in(sets.turns, name) and 'again' or 'blocked'
  elseif can_take and not can_take(id) then
    return 'passed'
  elseif is_bound and not may_start then
    taken.is_bound, taken.is_cut = true, true
    return 'unslotted'
  end
  local holds_slot = found[7] == name -- a job without a hash, or of another group, holds none: its end names no such group
  local bytes = taken.bytes + #(found[2] or '')
  if bytes > most_bytes and (#taken > 0 or taken.bytes > 0) then
    redis.call('ZADD', waiting, rank, id)
    full = true
    return 'full'
  elseif not pay(cost) then
    return 'unpaid'
  elseif holds_slot and type(redis.pcall('ZADD', slots_of(name), now_text, id)) ~= 'number' then
    redis.call('ZADD', waiting, rank, id) -- another client has spoilt the key of its slots
    return 'passed'
  end
  taken[#taken + 1], taken.bytes, known_jobs[id] = id, bytes, found
  taken.groups[#taken.groups + 1], taken.is_bound = name, taken.is_bound or is_bound
  if may_stay then
    redis.call('ZREM', waiting, id)
  end
  if holds_slot then
    known_slots[name] = group.max_running and known_slots[name] and running + 1 or nil
  end
  spend(name, group, cost)
  local finish = end_turn(start, group.weight, cost)
  return 'taken', place_after_turn(name, group, holds_slot, finish) and finish or nil
end
