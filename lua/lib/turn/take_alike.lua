-- take_alike(count, taken): takes the heads of the first groups in turns, like take_turns but much cheaper.
-- It takes groups without their own settings that run one job at a time, and jobs whose only option is their group. It
--   stops at the first other one. Each of these groups has one turn, so their order is that of turns.
-- Needs: lib/turn/take_head, can_take and known_jobs, which the claim sets.
local job_fields = { 'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'status' }

local function first_groups(count)
  local found, names, starts = redis.call('ZRANGE', group_keys.turns, 0, count - 1, 'WITHSCORES'), {}, {}
  for i = 1, #found, 2 do
    local place = (i + 1) / 2
    names[place], starts[place] = found[i], found[i + 1]
  end
  return names, starts
end

-- Takes a job out of its line, if it is such a one.
local function take_plain_head(name, taken)
  local waiting = groups .. 'waiting:' .. name
  local head = redis.call('ZPOPMIN', waiting)
  local id = head[1]
  if not id then
    return nil
  end
  local found = read(job .. id, unpack(job_fields))
  local payload = found[2]
  if payload and not found[3] and found[6] == 'pending' and found[5] == '{"group":"' .. name .. '"}' then
    local bytes = taken.bytes + #payload
    if bytes <= most_bytes then
      found.may_run, found.is_alike, taken.bytes, known_jobs[id] = true, true, bytes, found
      return id
    end
  end
  redis.call('ZADD', waiting, head[2], id)
end

local function write_alike(names, ended, depths, count)
  spread(group_keys.turns, count)
  remove_all(group_keys.turns, names)
  spread(group_keys.depths, count)
  add_all(group_keys.depths, depths)
  spread_ends(count)
  redis.call('HSET', group_keys.ends, unpack(ended))
  waiting_change = waiting_change - count
end

local function take_alike(count, taken)
  local group = read_group('')
  if can_take or interval or group ~= common_group or group.max_running ~= 1 then
    return
  end
  local names, starts = first_groups(math.min(count, 1000))
  if #names == 0 then
    return
  end
  recall_states(names)
  recall_slots(names)
  local waiting_before = redis.call('ZMSCORE', group_keys.depths, unpack(names))
  local clock, step, last_start, finish = current_virtual_time(), 1 / group.weight, nil, nil
  local out, ended, depths, fewer, n = {}, {}, {}, { ['1'] = '0' }, 0
  for i, name in ipairs(names) do
    local depth, start = waiting_before[i], starts[i]
    if name == '' or has_state[name] or known_slots[name] ~= 0 or not depth or depth == '0' then
      break
    end
    local id = take_plain_head(name, taken)
    if not id then
      break
    end
    redis.call('ZADD', slots_of(name), now_text, id)
    if start ~= last_start then
      last_start, clock = start, math.max(clock, tonumber(start))
      finish = stand_text(clock + step)
    end
    fewer[depth] = fewer[depth] or string.format('%d', tonumber(depth) - 1)
    n = n + 1
    taken[n], out[n], taken.groups[n] = id, name, name
    ended[2 * n - 1], ended[2 * n], depths[2 * n - 1], depths[2 * n] = name, finish, fewer[depth], name
    if depth == '1' then
      note_head(name, nil)
    end
  end
  known_slots = {}
  if n > 0 then
    virtual_time, latest_finish = clock, clock + step
    write_alike(out, ended, depths, n)
  end
end
