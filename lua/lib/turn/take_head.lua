-- take_head(name, start, taken, may_start): takes the first job of a group for a claim, if its limits allow it. A group
--   with a limit gives none that may not start at once. taken.is_bound: the claim met such a group.
-- Needs: full, groups, known_jobs, most_bytes, lib/core/clock, lib/group/line_and_slots, lib/group/place,
--   lib/group/scores, lib/group/state, lib/limits/slots_and_rate, lib/turn/claim_others.
--@include lib/turn/head
--@include lib/turn/end_turn

-- Returns taken, and where its next turn may start, nil if it has left turns.
-- Else blocked: the group has left turns. again: it may still run. passed: the claimer does not handle the head's name,
--   or another client has spoilt a key of the group.
--   full, unpaid, unslotted: the claim ends here.
local function take_head(name, start, taken, may_start)
  local group, waiting = read_group(name), groups .. 'waiting:' .. name
  local running = not group.max_running and 0 or known_slots[name] or redis.pcall('ZCARD', slots_of(name))
  running = type(running) == 'number' and running or nil -- another client may have spoilt the key
  local is_bound = group.max_running or group.rate
  local may_stay = can_take or rate or group.rate or group.waits_until > now or is_bound and not may_start
  local is_blocked = group.paused or group.hold or running and group.max_running and running >= group.max_running
  local id, rank, broken, found, cost = nil, nil, not running, nil, nil
  if not is_blocked and running then
    id, rank, broken, found, cost = first_in_line(name, group, waiting, may_stay, #taken)
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
--@limited lib/permits/use_head
  taken[#taken + 1], taken.bytes, known_jobs[id] = id, bytes, found
  taken.groups[#taken.groups + 1], taken.is_bound = name, taken.is_bound or is_bound
  if may_stay then
    redis.call('ZREM', waiting, id)
  end
  if holds_slot then
    known_slots[name] = group.max_running and known_slots[name] and running + 1 or nil
  end
  return 'taken', end_group_turn(name, group, start, cost, holds_slot)
end
