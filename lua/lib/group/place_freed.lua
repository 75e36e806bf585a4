-- place_freed(names): places groups of which only a slot was freed, like place_group but much cheaper. It takes those
--   without their own settings that have more jobs and may run one. Returns how many entered turns, and the others.
-- Needs: lib/group/state, lib/group/stands, lib/group/ends, lib/group/look.
local function place_freed(names)
  local group = read_group('')
  recall_states(names)
  recall_slots(names)
  if group ~= common_group then
    return 0, names
  end
  local waiting, finishes = redis.call('ZMSCORE', group_keys.depths, unpack(names)), redis.call('HMGET', group_keys.ends, unpack(names))
  local clock, clock_text, last_finish, start = current_virtual_time(), nil, nil, nil
  local scored, s, others = {}, 0, {}
  for i, name in ipairs(names) do
    local depth, finish = waiting[i], finishes[i]
    if has_state[name] or group.max_running and known_slots[name] ~= 0 or not finish or not depth or depth == '0' then
      others[#others + 1] = name
    else
      if finish ~= last_finish then
        clock_text = clock_text or stand_text(clock)
        last_finish, start = finish, tonumber(finish) > clock and finish or clock_text
      end
      scored[s + 1], scored[s + 2], s = start, name, s + 2
    end
  end
  if s == 0 then
    return 0, others
  end
  spread(group_keys.turns, s / 2)
  return add_new(group_keys.turns, scored), others
end
