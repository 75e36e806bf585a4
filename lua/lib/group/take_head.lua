-- end_turn(start, weight, cost): where the turn ends, which is where the next one may start: later by the cost over the weight.
-- take_head(name, start, taken): takes the first job of a group for a claim, where its limits let it.
-- known_jobs: what was read of the jobs that were taken, by id, as lib/settle/claim_ids asks for it.
-- Needs: lib/group/place, lib/limits/slots_and_rate, can_take and known_jobs, which the claim sets.
local latest_finish = 0

local function end_turn(start, weight, cost)
  local finish = start + cost / weight
  virtual_time, latest_finish = start, math.max(latest_finish, finish)
  return finish
end

-- The first job of a line, with what is to be known of it; nothing for one that has ended, or was claimed, from outside.
local function look_at_head(waiting)
  local heads = redis.call('ZRANGE', waiting, 0, 1, 'WITHSCORES')
  local id = heads[1]
  if not id then
    return nil
  end
  local found = read(job .. id, 'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'status', 'cost', 'expires_at_ms',
    'cancel_requested_at_ms', 'unmet', 'crashes')
  if found[6] and found[6] ~= 'pending' then
    redis.call('ZREM', waiting, id)
    return nil
  end
  return id, found, heads[3], heads[4]
end

local function spend(name, group, cost)
  if group.interval then
    group.tat = group.tat + math.min(cost, group.burst) * group.interval
    group.has_spent = true
    mark_state(name)
    redis.call('HSET', groups .. 'state:' .. name, 'rate_tat_us', string.format('%.0f', group.tat))
  end
end

-- Answers taken, and where its next turn may start, nil where it has left turns; blocked, where the group has left turns; again, where it
-- may still run; passed, where the claimer does not handle the head's name; full or unpaid, where the claim ends here.
local function take_head(name, start, taken)
  local group, waiting = read_group(name), groups .. 'waiting:' .. name
  local id, found, next_id, next_rank_of_head = look_at_head(waiting)
  local cost = math.min(1e6, math.max(1, found and tonumber(found[7] or nil) or 1)) -- as lib/limits/slots_and_rate does
  local running = group.max_running and slots_in_use(name) or 0
  if not id or group.paused or group.hold or group.max_running and running >= group.max_running or opens_at(group, cost) then
    place_group(name, {})
    return score_in(group_keys.turns, name) and 'again' or 'blocked'
  elseif can_take and not can_take(id) then
    return 'passed'
  end
  local bytes = taken.bytes + #(found[2] or '')
  if bytes > most_bytes and #taken > 0 then
    full = true
    return 'full'
  elseif not pay(cost) then
    return 'unpaid'
  end
  taken[#taken + 1], taken.bytes, known_jobs[id] = id, bytes, found
  redis.call('ZREM', waiting, id)
  if found[6] then
    redis.call('ZADD', groups .. 'running:' .. name, now_text, id) -- a job without a hash holds no slot: its end names no group
    running = running + 1
    known_slots[name] = group.max_running and known_slots[name] and running or nil
  end
  spend(name, group, cost)
  local finish = end_turn(start, group.weight, cost)
  local depth = next_id and math.max(1, (tonumber(score_in(group_keys.depths, name) or nil) or 0) - 1) or 0
  if not group.max_running then
    running = found[6] and 1 or redis.call('ZCARD', groups .. 'running:' .. name) -- whether there is one
  end
  note_depth(name, depth, running, next_rank_of_head)
  stand_group(name, group, { depth = depth, id = next_id, running = running }, stand_text(finish), group.has_spent)
  return 'taken', score_in(group_keys.turns, name) and finish or nil
end
