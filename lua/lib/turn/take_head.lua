-- end_turn(start, weight, cost): returns the end of the turn, where the next one may start: later by the cost over the
--   weight.
-- take_head(name, start, taken): takes the first job of a group for a claim, if its limits allow it.
-- known_jobs: the fields that were read of the taken jobs, by id, for lib/settle/claim_ids
--   name, payload, attempts, enqueued_at_ms, options and status
--   may_run: no field says that it must not; is_alike: a first attempt whose only option is its group
-- Needs: lib/group/place, lib/limits/slots_and_rate, can_take and known_jobs, which the claim sets.
local latest_finish = 0

local function end_turn(start, weight, cost)
  local finish = start + cost / weight
  virtual_time = start
  if finish > latest_finish then
    latest_finish = finish
  end
  return finish
end

-- Reads the fields of a job that a claim needs. Returns them, and the cost. The space is the mark of lib/enqueue/options
-- for a job whose only option is its group. Processes before it wrote none.
local function look_at_job(name, id)
  local found = read(job .. id, 'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'status')
  if not found[3] and found[2] and found[5] == ' {"group":"' .. name .. '"}' then
    found.may_run, found.is_alike = true, true
    return found, 1
  end
  local cost, expires_at, cancelled, unmet, crashes = unpack(read(job .. id, 'cost', 'expires_at_ms', 'cancel_requested_at_ms', 'unmet',
    'crashes'))
  found.may_run = not (found[3] or expires_at or cancelled or unmet or crashes)
  return found, math.min(1e6, math.max(1, tonumber(cost or nil) or 1)) -- as lib/limits/slots_and_rate does
end

-- Takes the first job out of a line. If limits or a name may leave it there, it is only read. The third result is an
-- error if another client has spoilt the line.
local function next_in_line(waiting, may_stay)
  local head = may_stay and redis.pcall('ZRANGE', waiting, 0, 0, 'WITHSCORES') or redis.pcall('ZPOPMIN', waiting)
  return head[1], head[2], head.err
end

-- Returns the slots in use that limit a group; nil if another client has spoilt their key.
local function slots_that_limit(name, group)
  local running = not group.max_running and 0 or known_slots[name] or redis.pcall('ZCARD', slots_of(name))
  return type(running) == 'number' and running or nil
end

-- Raises an error while no job is taken yet if a key is spoilt that is first written after that.
local function check_group_keys()
  redis.call('HLEN', group_keys.ends)
  redis.call('ZCARD', group_keys.depths)
  redis.call('ZCARD', group_keys.heads)
  redis.call('ZCARD', group_keys.finishes)
end

-- Gives a taken job a slot of its group. Returns whether it could; else the job is back in its line.
local function take_slot(name, waiting, id, rank)
  if type(redis.pcall('ZADD', slots_of(name), now_text, id)) == 'number' then
    return true
  end
  redis.call('ZADD', waiting, rank, id)
  return false
end

local function spend(name, group, cost)
  if group.interval then
    group.tat = group.tat + math.min(cost, group.burst) * group.interval
    group.has_spent = true
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
  if group.max_running then
    running = slots_in_use(name)
  else
    running = has_slot and 1 or slots_in_use(name) -- whether there is one
  end
  note_depth(name, depth, running)
  local id = depth > 0 and group.interval and redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, 0)[1]
  place_known_group(name, group, depth, running, id, score_text(finish), group.has_spent)
  return sets.turns.scores[name]
end

-- Returns taken, and where its next turn may start, nil if it has left turns.
-- Else blocked: the group has left turns. again: it may still run. passed: the claimer does not handle the head's name,
--   or another client has spoilt a key of the group.
--   full, unpaid: the claim ends here.
local function take_head(name, start, taken)
  local group, waiting = read_group(name), groups .. 'waiting:' .. name
  local running = slots_that_limit(name, group)
  local may_stay = can_take or interval or group.interval or group.rests_until > now
  local is_blocked = group.paused or group.hold or running and group.max_running and running >= group.max_running
  local id, rank, broken, found, cost = nil, nil, not running, nil, nil
  if not is_blocked and running then
    id, rank, broken = next_in_line(waiting, may_stay)
  end
  if id then
    found, cost = look_at_job(name, id)
  end
  if found and found[6] and found[6] ~= 'pending' then -- ended, or claimed, from outside
    redis.call('ZREM', waiting, id)
    id = nil
  end
  if broken then
    return 'passed'
  elseif not id or may_stay and opens_at(group, cost) then
    place_group(name, {})
    return score_in(sets.turns, name) and 'again' or 'blocked'
  elseif can_take and not can_take(id) then
    return 'passed'
  end
  local bytes = taken.bytes + #(found[2] or '')
  if bytes > most_bytes and #taken > 0 then
    redis.call('ZADD', waiting, rank, id)
    full = true
    return 'full'
  elseif not pay(cost) then
    return 'unpaid'
  elseif found[6] and not take_slot(name, waiting, id, rank) then -- a job without a hash holds no slot: its end names no group
    return 'passed'
  end
  taken[#taken + 1], taken.bytes, known_jobs[id] = id, bytes, found
  taken.groups[#taken.groups + 1] = name
  if may_stay then
    redis.call('ZREM', waiting, id)
  end
  if found[6] then
    known_slots[name] = group.max_running and known_slots[name] and running + 1 or nil
  end
  spend(name, group, cost)
  local finish = end_turn(start, group.weight, cost)
  return 'taken', place_after_turn(name, group, found[6], finish) and finish or nil
end

-- Notes the first jobs of some of the groups that had a turn. A claim of few groups notes all.
local function note_heads(names)
  local from, heads_to_note = tonumber(time[2]), math.min(#names, 4)
  for i = from, from + heads_to_note - 1 do
    local name = names[i % #names + 1]
    if sets.heads.scores[name] ~= false then
      note_head(name, redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, 0, 'WITHSCORES')[2])
    end
  end
end
