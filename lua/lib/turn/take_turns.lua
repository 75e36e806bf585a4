-- take_turns(count, taken, plain): gives up to count turns, the next one in turns each time. A call may continue another.
-- plain: the turns of the jobs without a group.
--   left: how many they may have. weight: that of each.
--   before: for each, how many jobs of groups were taken before it.
--   costs: for each, what it paid to the rate. bytes: of their payloads, which are among taken.bytes.
--   The jobs are taken later.
-- A claimer that runs jobs of a group together gives a group several turns in a row. They count as turns, so others have
--   more of the next ones.
-- Skipped groups stay in turns, so a claim searches behind them: at the first hundred, then behind a moving place.
-- Needs: full, job, most_bytes, pending, prioritized, sequence, slots, to_wait, turns_in_row, lib/group/padding,
--   lib/group/scores, lib/group/state, lib/group/turns, lib/limits/cost_of, lib/limits/slots_and_rate,
--   lib/turn/claim_others, lib/turn/end_turn, lib/turn/take_head.
--@include lib/turn/line

-- Returns the payload bytes and the cost of the job without a group after `others`. Few claims take another job first. Returns
-- 0 and 1 for a job that the claimer leaves.
local function look_at_plain(others)
  local urgent = redis.call('ZCARD', prioritized)
  local id = others < urgent and redis.call('ZRANGE', prioritized, others, others)[1]
    or redis.call('LRANGE', pending, urgent - others - 1, urgent - others - 1)[1]
  if not id or can_take and not can_take(id) then
    return 0, 1
  end
  return tonumber(redis.pcall('HSTRLEN', job .. id, 'payload')) or 0, rate and cost_of(id) or 1
end

local function take_turns(count, taken, plain)
  if count < 1 then
    return -- the limits of the queue leave no room
  end
  local before, passed, ended, row = plain.before, 0, false, nil
  local line = read_line(0, count)
  -- Gives the turn again: in a row, or where it starts next.
  local function again(turn, start)
    turn.in_row = (turn.in_row or 0) + 1
    if turn.in_row < turns_in_row then
      row, turn.start = turn, start
    else
      turn.in_row = 0
      turn_again(line, turn, start)
    end
  end
  for _ = 1, count + 200 do
    local left = count - #taken - #before
    local turn = left > 0 and not ended and (row or next_turn(line))
    local is_next_in_row = row ~= nil
    row = nil
    if not turn and left > 0 and not ended and line.last then
      line = read_line(passed, left)
      turn = next_turn(line)
    end
    if not turn then
      break
    end
    local clock = current_virtual_time()
    local start = math.max(turn.start, clock)
    local bytes, cost = 0, 1
    if turn.name == '' and #before < plain.left and (rate or most_bytes < math.huge) then
      bytes, cost = look_at_plain(#before)
    end
    if turn.name ~= '' then
      local outcome, next_start = take_head(turn.name, start, taken, not slots or #taken + #before < slots + to_wait)
      if outcome == 'passed' then
        passed = passed + 1
        if passed == 100 then
          local spread = tonumber(redis.call('INCR', sequence)) * 0.6180339887498949 % 1
          passed = 100 + math.floor(spread * math.max(0, redis.call('ZCARD', group_keys.turns) - 100))
          line = read_line(passed, left)
        end
      elseif next_start then
        again(turn, next_start)
      elseif outcome == 'again' then
        turn_again(line, turn, start)
      end
      ended = outcome == 'full' or outcome == 'unpaid' or outcome == 'unslotted'
    elseif #before == plain.left then
      passed = passed + 1
    elseif taken.bytes + bytes > most_bytes and #taken + #before > 0 then
      full, ended = true, true
    elseif not pay(cost) then
      ended = true
    else
      plain.costs[#before + 1] = cost
      before[#before + 1], taken.bytes, plain.bytes = #taken, taken.bytes + bytes, plain.bytes + bytes
      local finish = end_turn(start, plain.weight, 1)
      set_score(sets.turns, '', score_text(finish))
      again(turn, finish)
    end
    if is_next_in_row then
      virtual_time = clock -- others still start where the row began
    end
  end
end
