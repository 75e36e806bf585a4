-- take_grouped(count, alike): takes up to count ids for a claim by start-time fair queueing, with those of alike, see
-- lib/turn/take_alike, if that took some. The group with the least virtual
-- start time has the turn. Its start grows by the job's cost over its weight. The jobs without a group are one group,
-- named ''.
-- Returns the ids, whether a group could run another, the ranks of jobs without a group, and the ms until the first
--   gate opens.
-- Needs: lib/group/place, lib/group/open, lib/limits/slots_and_rate, take_ungrouped and can_take, which the claim sets.
--@include lib/turn/take_head
--@include lib/core/is_less

-- Skipped groups stay in turns, so a claim searches behind them: at the first hundred, then behind a moving place.
local function place_behind(passed)
  if passed ~= 100 then
    return passed
  end
  local spread = tonumber(redis.call('INCR', sequence)) * 0.6180339887498949 % 1
  return 100 + math.floor(spread * math.max(0, redis.call('ZCARD', group_keys.turns) - 100))
end

--@include lib/turn/line

local function take_turns(count, taken, plain_left, plain_weight)
  if count < 1 then
    return 0 -- the limits of the queue leave no room
  end
  local plain_turns, passed, ended = 0, 0, false
  local line = read_line(0, count)
  for _ = 1, count + 200 do
    local left = count - #taken - plain_turns
    local turn = left > 0 and not ended and next_turn(line)
    if not turn and left > 0 and not ended and line.last then
      line = read_line(passed, left)
      turn = next_turn(line)
    end
    if not turn then
      break
    end
    local start = math.max(turn.start, current_virtual_time())
    if turn.name ~= '' then
      local outcome, next_start = take_head(turn.name, start, taken)
      if outcome == 'passed' then
        passed = passed + 1
        local place = place_behind(passed)
        if place ~= passed then
          passed, line = place, read_line(place, left)
        end
      elseif next_start or outcome == 'again' then
        turn_again(line, turn, next_start or start)
      end
      ended = outcome == 'full' or outcome == 'unpaid'
    elseif plain_turns == plain_left then
      passed = passed + 1
    else
      plain_turns = plain_turns + 1
      local finish = end_turn(start, plain_weight, 1)
      set_score(sets.turns, '', score_text(finish))
      turn_again(line, turn, finish)
    end
  end
  return plain_turns
end

-- If no group waits for a turn, none is owed one, and the clock moves on. Its past entries of finishes are deleted
-- twice as fast as turns add to them. Not all at once, because many groups may have been blocked together.
local function advance_clock(turns_taken)
  if redis.call('ZCARD', group_keys.turns) == 0 then
    virtual_time = math.max(current_virtual_time(), latest_finish)
  end
  redis.call('HSET', group_keys.settings, 'virtual_time', score_text(current_virtual_time()))
  local passed = redis.call('ZRANGE', group_keys.finishes, '-inf', current_virtual_time(), 'BYSCORE', 'LIMIT', 0,
    2 * turns_taken + 10)
  remove_all(group_keys.finishes, passed)
end

local function place_plain()
  local waiting = redis.call('LLEN', pending) + redis.call('ZCARD', prioritized)
  if waiting > 0 then
    enter_turns('')
  elseif score_in(sets.turns, '') then
    leave_turns('')
    go_idle('')
  end
  write_scores()
  return waiting
end

local function take_grouped(count, alike)
  open_groups(100)
  place_groups(true)
  local plain_left = place_plain()
  local plain_weight = tonumber(redis.call('HGET', group_keys.settings, 'plain_weight') or nil) or 1
  local taken, plain, ranks_of_plain = alike or { bytes = 0, groups = {} }, {}, nil
  latest_finish = taken.latest_finish or 0
  if not alike then
    check_group_keys()
  end
  local plain_turns = take_turns(count, taken, plain_left, plain_weight)
  if plain_turns > 0 then
    plain, more, ranks_of_plain = take_ungrouped(plain_turns)
    if #plain < plain_turns and not full then
      take_turns(count - #plain, taken, 0, plain_weight) -- the claimer does not handle the others
    end
    charge(plain, #taken > 0 and taken.bytes or nil)
    place_plain()
  end
  note_heads(taken.groups)
  write_scores()
  count_waiting()
  if #taken + #plain > 0 then
    advance_clock(#taken + #plain)
  end
  for _, id in ipairs(plain) do
    taken[#taken + 1] = id
  end
  local first_opens = redis.call('ZRANGE', group_keys.gated, 0, 0, 'WITHSCORES')[2]
  return taken, redis.call('ZCARD', group_keys.turns) > 0, ranks_of_plain, first_opens and math.max(1, tonumber(first_opens) - now)
end
