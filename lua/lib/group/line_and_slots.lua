-- The data that decides a group's place: its line, its slots, and the cost of its head.
-- look_at_line(name): returns how many wait, and the id and the rank of the first.
-- slots_of(name): returns the key of its slots.
-- recall_slots(names), slots_in_use(name): read how many are in use.
-- Needs: groups.
--@include lib/limits/cost_of

local function look_at_line(name)
  local head = redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, 0, 'WITHSCORES')
  return head[1] and redis.call('ZCARD', groups .. 'waiting:' .. name) or 0, head[1], head[2]
end

-- Slots in use, by group. If groups run one job at a time, many use no slot when they are placed. One EXISTS shows that
-- for all.
-- checked_slots: by group, as an enqueue read them before its first write. It neither takes nor frees one.
-- checked_lines: by group, how many jobs waited then.
local known_slots, slot_keys, checked_slots, checked_lines = {}, {}, nil, nil

local function slots_of(name)
  slot_keys[name] = slot_keys[name] or groups .. 'running:' .. name
  return slot_keys[name]
end

local function recall_slots(names)
  local keys = {}
  for i = 1, #names do
    keys[i] = slots_of(names[i])
  end
  if redis.call('EXISTS', unpack(keys)) == 0 then
    for i = 1, #names do
      known_slots[names[i]] = 0
    end
  end
end

local function slots_in_use(name)
  return known_slots[name] or redis.call('ZCARD', slots_of(name))
end
