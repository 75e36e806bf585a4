-- The line of groups: the groups with the next turns, in the order of turns.
-- read_line(from, most): reads up to `most` groups, with what a claim needs of them.
-- next_turn(line): takes the first; nil if the line must be read again.
-- turn_again(line, turn, start): puts a group back, at the start of its next turn.
-- Needs: lib/group/line_and_slots, lib/group/scores, lib/group/state, lib/group/write_scores.
--@include lib/core/is_less

-- Groups behind the last one read may come before a group that has had its turn. Then the line is read again.
local function is_before(one, other)
  return one.start < other.start or one.start == other.start and is_less(one.name, other.name)
end

local most_read = 1000 -- what one call takes

local function read_line(from, most)
  write_scores()
  most = math.min(most, most_read)
  local found, line, names = redis.call('ZRANGE', group_keys.turns, from, from + most - 1, 'WITHSCORES'), { first = 1 }, {}
  for i = 1, #found, 2 do
    local name, start = found[i], found[i + 1]
    if #name > 1024 then -- no group has such a name
      redis.call('ZREM', group_keys.turns, name)
    else
      line[#line + 1] = { name = name, start = tonumber(start) }
      names[#names + 1] = name ~= '' and name or nil
      sets.turns.scores[name] = start
    end
  end
  if #names > 1 then
    recall_states(names)
    recall_slots(names)
    recall(sets.depths, names)
  end
  line.last = #line == most and { name = line[most].name, start = line[most].start } or nil
  return line
end

local function next_turn(line)
  local turn = line[line.first]
  if not turn or turn.had_turn and line.last and is_before(line.last, turn) then
    return nil
  end
  line.first = line.first + 1
  return turn
end

-- Puts a group back into the line, at the start of its next turn.
local function turn_again(line, turn, start)
  turn.start, turn.had_turn = start, true
  local low, high = line.first, #line + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_before(line[middle], turn) then
      low = middle + 1
    else
      high = middle
    end
  end
  table.insert(line, low, turn)
end
