-- take_turns(count, taken, plain): gives up to count turns, the next one in turns each time. A call may continue another.
-- plain: the turns of the jobs without a group.
--   left: how many they may have. weight: that of each.
--   before: for each, how many jobs of groups were taken before it.
--   bytes: of their payloads, which are among taken.bytes. The jobs are taken later.
-- Skipped groups stay in turns, so a claim searches behind them: at the first hundred, then behind a moving place.
-- Needs: full, job, most_bytes, pending, prioritized, sequence, slots, lib/group/padding, lib/group/scores,
--   lib/group/state, lib/group/turns, lib/turn/claim_others, lib/turn/take_head.
--@include lib/turn/line

-- Returns the payload bytes of the job without a group after `others`. Few claims take another job first. Returns 0 for a job
-- that the claimer leaves.
local function plain_bytes(others)
  local urgent = redis.call('ZCARD', prioritized)
  local id = others < urgent and redis.call('ZRANGE', prioritized, others, others)[1]
    or redis.call('LRANGE', pending, urgent - others - 1, urgent - others - 1)[1]
  return id and (not can_take or can_take(id)) and tonumber(redis.pcall('HSTRLEN', job .. id, 'payload')) or 0
end

local function take_turns(count, taken, plain)
  if count < 1 then
    return -- the limits of the queue leave no room
  end
  local before, passed, ended = plain.before, 0, false
  local line = read_line(0, count)
  for _ = 1, count + 200 do
    local left = count - #taken - #before
    local turn = left > 0 and not ended and next_turn(line)
    if not turn and left > 0 and not ended and line.last then
      line = read_line(passed, left)
      turn = next_turn(line)
    end
    if not turn then
      break
    end
    local start = math.max(turn.start, current_virtual_time())
    local bytes = turn.name == '' and #before < plain.left and most_bytes < math.huge and plain_bytes(#before) or 0
    if turn.name ~= '' then
      local outcome, next_start = take_head(turn.name, start, taken, not slots or #taken + #before < slots)
      if outcome == 'passed' then
        passed = passed + 1
        if passed == 100 then
          local spread = tonumber(redis.call('INCR', sequence)) * 0.6180339887498949 % 1
          passed = 100 + math.floor(spread * math.max(0, redis.call('ZCARD', group_keys.turns) - 100))
          line = read_line(passed, left)
        end
      elseif next_start or outcome == 'again' then
        turn_again(line, turn, next_start or start)
      end
      ended = outcome == 'full' or outcome == 'unpaid' or outcome == 'unslotted'
    elseif #before == plain.left then
      passed = passed + 1
    elseif taken.bytes + bytes > most_bytes and #taken + #before > 0 then
      full, ended = true, true
    else
      before[#before + 1], taken.bytes, plain.bytes = #taken, taken.bytes + bytes, plain.bytes + bytes
      local finish = end_turn(start, plain.weight, 1)
      set_score(sets.turns, '', score_text(finish))
      turn_again(line, turn, finish)
    end
  end
end
