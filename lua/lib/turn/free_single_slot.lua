-- free_single_slot(left): frees the slots of completed jobs, and places their groups as lib/group/place does, with a fraction of
--   its work. It places groups with more jobs, a free slot, no rate, and no state of their own. Wakes a worker if one of
--   them entered turns.
-- left: the group of each job, by its id
-- Returns the names of the other groups, which lib/group/place has to place. It needs no other library of groups, so a
-- completion of such jobs alone does not define them.
-- Needs: groups.
--@include lib/group/padding

-- Frees the slots. Returns the names of the groups, and the keys of their slots.
local function free_slots(left)
  local names, slots, known = {}, {}, {}
  for id, name in pairs(left) do
    local key = known[name]
    if not key then
      key = groups .. 'running:' .. name
      known[name], names[#names + 1], slots[#slots + 1] = key, name, key
    end
    redis.call('ZREM', key, id)
  end
  return names, slots
end

local function free_single_slot(left)
  local names, slots = free_slots(left)
  local max_running, interval, virtual_time = unpack(redis.call('HMGET', groups .. 'settings', 'max_running', 'rate_interval_us',
    'virtual_time'))
  if interval or #names > 1000 or max_running and redis.call('EXISTS', unpack(slots)) > 0 then
    return names
  end
  local states = redis.call('EXISTS', groups .. 'states') == 1 and redis.call('HMGET', groups .. 'states', unpack(names))
  local waiting, ends = redis.call('ZMSCORE', groups .. 'depths', unpack(names)), redis.call('HMGET', groups .. 'ends', unpack(names))
  local clock_text = virtual_time or '0'
  local clock, others, scored, n, last_end, start = tonumber(clock_text), {}, {}, 0, nil, nil
  for i, name in ipairs(names) do
    local depth, ended = waiting[i], ends[i]
    if states and states[i] or not ended or not depth or depth == '0' then
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
