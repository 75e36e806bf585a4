-- free_single_slot(ids, left): frees the slots of completed jobs, and places their groups. That is a fraction of the work of
--   lib/group/place. It places groups with more jobs, a free slot, no rate, and no state of their own. Wakes a worker if one of
--   them entered turns.
-- left: the group of each job
-- Returns the names of the other groups, which lib/group/place has to place. It needs no other library of groups, so a
-- completion of such jobs alone does not define them.
-- Needs: groups.
--@include lib/group/padding

-- Frees the slots. Returns their keys.
local function free_slots(ids, left)
  local slots = { unpack(left) } -- has room for all
  for i, id in ipairs(ids) do
    local key = groups .. 'running:' .. left[i]
    redis.call('ZREM', key, id)
    slots[i] = key
  end
  return slots
end

-- Returns each of some names once.
local function distinct(names)
  local known, once = {}, {}
  for _, name in ipairs(names) do
    if not known[name] then
      known[name], once[#once + 1] = true, name
    end
  end
  return once
end

-- Returns which of some groups have no waiting job. If fewer than half as many groups have none and run one, only these are
-- read.
local function empty_groups(names)
  local most, empty = math.floor(#names / 2), {}
  local found = most > 3 and redis.call('ZRANGE', groups .. 'depths', '-inf', '0', 'BYSCORE', 'LIMIT', '0', most)
  if found and #found < most then
    for _, name in ipairs(found) do
      empty[name] = true
    end
    return empty
  end
  for i, depth in ipairs(redis.call('ZMSCORE', groups .. 'depths', unpack(names))) do
    empty[names[i]] = not depth or depth == '0'
  end
  return empty
end

local function free_single_slot(ids, left)
  local slots = free_slots(ids, left)
  local max_running, rate_limit, virtual_time = unpack(redis.call('HMGET', groups .. 'settings', 'max_running', 'rate_limit',
    'virtual_time'))
  local names = max_running == '1' and left or distinct(left) -- else a group may run several
  if rate_limit or #names > 1000 or max_running and redis.call('EXISTS', unpack(slots)) > 0 then
    return names
  end
  local states = redis.call('EXISTS', groups .. 'states') == 1 and redis.call('HMGET', groups .. 'states', unpack(names))
  local empty, ends = empty_groups(names), redis.call('HMGET', groups .. 'ends', unpack(names))
  local clock_text = virtual_time or '0'
  local clock, others, scored, n, last_end, start = tonumber(clock_text), {}, {}, 0, nil, nil
  for i, name in ipairs(names) do
    local ended = ends[i]
    if states and states[i] or not ended or empty[name] then
      others[#others + 1] = name
    else
      if ended ~= last_end then
        last_end, start = ended, tonumber(ended) > clock and ended or clock_text
      end
      scored[n + 1], scored[n + 2], n = start, name, n + 2
    end
  end
  if add_many(groups .. 'turns', 'NX', scored) > 0 then
--@include lib/core/wake
  end
  return others
end
