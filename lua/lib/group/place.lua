-- The places of groups. A group whose head may run now is in turns, by its virtual start time. A rate, a rest
--   and a pause with an end hold a group back. It is in gated, by their end. A group that is paused without an end, held or at its
--   max_running is in neither. A blocked group costs a claim nothing.
-- place_group(name, known): puts a group where it belongs, after any change. A second call changes nothing. known has
--   only_slot if only a slot was freed. It has depth, how many wait, if the line only grew, and rank if it was empty.
-- place_known_group(): does the same for a group that has just had a turn, by the claim's data.
-- touch(name): makes place_groups() place it at the end of the script. That wakes a worker if a group may run now, or if
--   no worker waits for its gate. After the last place_group() come write_scores(), and count_waiting(), see
--   lib/group/depth. place_groups() calls them.
-- free_slot(name, id), hold_group(name, id), end_hold(name, id): the effect on its group of a job that leaves or waits
--   apart.
-- Needs: lib/core/clock.
--@include lib/group/state
--@include lib/group/scores
--@include lib/group/write_scores
--@include lib/group/turns
--@include lib/group/depth
--@include lib/group/gate
--@include lib/group/line_and_slots

-- Puts a group whose line and slots are known where it belongs. depth, running: jobs in these; id: the first in line, where a rate
-- has to know its cost.
local function place_known_group(name, group, depth, running, id, finish, may_be_gated)
  if depth == 0 then
    leave_turns(name, finish)
    if running == 0 then
      go_idle(name)
    end
    return rest_idle(name, group)
  end
  local blocked = group.paused or group.hold or group.max_running and running >= group.max_running
  local opens = not blocked and (group.rate or group.waits_until > now) and opens_at(group, group.rate and cost_of(id) or 1)
  gate(name, opens, may_be_gated)
  if blocked or opens then
    leave_turns(name, finish)
  elseif finish then
    set_score(sets.turns, name, finish)
  elseif not sets.turns.scores[name] then
    enter_turns(name)
  end
end

local function place_group(name, known)
  local group, depth, rank, id = read_group(name), known.depth, known.rank, nil
  local running = depth and sets.turns.scores[name] and 0 or slots_in_use(name) -- in turns: one is free
  if group.is_ahead then
    write_bounds(name, group)
  end
  end_pause(name, group)
  -- If only a slot was freed, or the line only grew, its head is unchanged. It is read if a rate needs its cost.
  if group.rate or not (known.only_slot or depth) then
    depth, id, rank = look_at_line(name)
    note_head(name, rank)
  elseif rank then
    note_head(name, rank)
  end
  depth = depth or tonumber(score_in(sets.depths, name) or nil) or 0
  if rank or known.depth or depth == 0 then
    note_depth(name, depth, running)
  end
  place_known_group(name, group, depth, running, id, nil, group.has_spent or group.paused_until > 0 or not (known.only_slot or sets.gated.is_empty))
end

local touched_groups = {}

local function touch(name)
  touched_groups[name] = {}
end

-- Reads of many groups together what to place them asks for.
local function recall_groups(names)
  recall_states(names)
  recall_slots(names)
  recall(sets.depths, names)
  recall(sets.ends, names)
  recall(sets.finishes, names)
  for _, name in ipairs(names) do
    if not touched_groups[name].only_slot then
      recall(sets.turns, names)
      return recall(sets.gated, names)
    end
  end
end

local function place_groups(is_quiet)
  local names = {}
  for name in pairs(touched_groups) do
    names[#names + 1] = name
  end
  known_slots = checked_slots or {}
  for i = 1, #names > 1 and not checked_slots and #names or 0, 500 do -- an enqueue has read them
    recall_groups({ unpack(names, i, math.min(i + 499, #names)) })
  end
  for _, name in ipairs(names) do
    place_group(name, touched_groups[name])
  end
  local entered = write_scores()
  if not is_quiet and (entered > 0 or first_gate and is_gate_unwatched()) then
--@include lib/core/wake
  end
  touched_groups = {}
  count_waiting()
end

--@include lib/group/slot
