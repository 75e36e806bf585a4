-- Where groups stand. A group whose head may run now stands in turns, by its virtual start time. One that a rate or a rest holds
-- back stands in gated, by the time at which that ends. A group that is paused, held or at its max_running stands in neither.
-- A blocked group costs a claim nothing.
-- place_group(name, known): puts a group where it belongs, whatever changed. A second call changes nothing. known has only_slot where
-- only a slot was freed. stand_group(): the same for one that has just had a turn, by what the claim knows of it.
-- touch(name): has place_groups() place it at the end of the script; that wakes a worker where a group may run now.
-- After the last place_group() come write_stands(), see lib/group/stands, and count_waiting(), see lib/group/depth; place_groups()
-- calls them.
-- free_slot(name, id), hold_group(name, id), end_hold(name, id): what a job that leaves, or waits apart, does to its group.
-- Needs: job, groups, wake, now, time.
--@include lib/group/state
--@include lib/group/stands
--@include lib/group/turns
--@include lib/group/depth
--@include lib/group/gate

--@include lib/group/look

-- Puts a group whose line and slots are known where it belongs.
local function stand_group(name, group, line, finish, may_be_gated)
  if line.depth == 0 then
    leave_turns(name, finish)
    return rest_idle(name, group)
  end
  local blocked = group.paused or group.hold or group.max_running and line.running >= group.max_running
  local opens = not blocked and opens_at(group, group.interval and cost_of(line.id) or 1)
  gate(name, opens, may_be_gated)
  if blocked or opens then
    leave_turns(name, finish)
  elseif finish then
    stand_in(group_keys.turns, name, finish)
  else
    enter_turns(name)
  end
end

local function place_group(name, known)
  local group, line = read_group(name), {}
  line.running = slots_in_use(name)
  if knows_line(known, group) then
    line.depth = tonumber(score_in(group_keys.depths, name) or nil) or 0
  else
    line.depth, line.id, line.rank = look_at_line(name)
  end
  if line.rank or line.depth == 0 then
    note_depth(name, line.depth, line.running, line.rank)
  end
  stand_group(name, group, line, nil, group.has_spent or not known.only_slot)
end

local function touch(name)
  touched_groups[name] = {}
end

-- Reads of many groups together what to place them asks for.
local function recall_groups(names)
  recall_states(names)
  recall_slots(names)
  recall(group_keys.depths, names)
  recall(group_keys.finishes, names)
  for _, name in ipairs(names) do
    if not touched_groups[name].only_slot then
      recall(group_keys.turns, names)
      return recall(group_keys.gated, names)
    end
  end
end

local function place_groups(is_quiet)
  local names = {}
  for name in pairs(touched_groups) do
    names[#names + 1] = name
  end
  known_slots = {}
  for i = 1, #names > 1 and #names or 0, 500 do
    recall_groups({ unpack(names, i, math.min(i + 499, #names)) })
  end
  for _, name in ipairs(names) do
    place_group(name, touched_groups[name])
  end
  if write_stands() > 0 and not is_quiet then
    redis.call('ZADD', wake, '0', '1')
  end
  touched_groups = {}
  count_waiting()
end

--@include lib/group/slot
