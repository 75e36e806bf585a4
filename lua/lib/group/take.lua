-- take_grouped(count): takes up to count ids for a claim by start-time fair queueing: the group whose virtual start time is the least
-- has the turn; its start grows by the job's cost over its weight. The jobs without a group are one group, named ''.
-- Answers the ids, whether a group could run another, the ranks of jobs without a group, and the ms until the first gate opens.
-- Needs: lib/group/place, lib/group/open, lib/limits/room, take_ungrouped and can_take, which the claim sets.
--@include lib/group/take_head

-- Groups that are passed over stay in turns, so a claim looks behind them: at the first hundred, then behind a place that moves on.
local function place_behind(passed)
  if passed ~= 100 then
    return passed
  end
  local spread = tonumber(redis.call('INCR', sequence)) * 0.6180339887498949 % 1
  return 100 + math.floor(spread * math.max(0, redis.call('ZCARD', group_keys.turns) - 100))
end

local function take_turns(count, taken, plain_left, plain_weight)
  local plain_turns, at, ended = 0, 0, false
  for _ = 1, count + 200 do
    local name, start = unpack(redis.call('ZRANGE', group_keys.turns, at, at, 'WITHSCORES'))
    if not name or ended or #taken + plain_turns >= count then
      break
    end
    start = math.max(tonumber(start), current_virtual_time())
    if name ~= '' then
      local outcome = take_head(name, start, taken)
      at = outcome == 'passed' and place_behind(at + 1) or at
      ended = outcome == 'full' or outcome == 'unpaid'
    elseif plain_turns == plain_left then
      at = at + 1
    else
      plain_turns = plain_turns + 1
      redis.call('ZADD', group_keys.turns, 'XX', end_turn(start, plain_weight, 1), '')
    end
  end
  return plain_turns
end

-- Where nobody waits for a turn, nobody is owed one: the clock moves on, so that what ended turns left behind is forgotten.
local function advance_clock()
  if redis.call('ZCARD', group_keys.turns) == 0 then
    virtual_time = math.max(current_virtual_time(), latest_finish)
  end
  redis.call('HSET', group_keys.settings, 'virtual_time', string.format('%.17g', current_virtual_time()))
  local passed = redis.call('ZRANGE', group_keys.finishes, '-inf', current_virtual_time(), 'BYSCORE', 'LIMIT', 0, 100)
  if #passed > 0 then
    redis.call('ZREM', group_keys.finishes, unpack(passed))
  end
end

local function place_plain()
  local waiting = redis.call('LLEN', pending) + redis.call('ZCARD', prioritized)
  if waiting > 0 then
    enter_turns('')
  else
    leave_turns('')
  end
  return waiting
end

local function take_grouped(count)
  open_groups(100)
  place_groups(true)
  local plain_left = place_plain()
  local plain_weight = tonumber(redis.call('HGET', group_keys.settings, 'plain_weight') or nil) or 1
  local taken, plain, ranks_of_plain = { bytes = 0 }, {}, nil
  local plain_turns = take_turns(count, taken, plain_left, plain_weight)
  if plain_turns > 0 then
    plain, more, ranks_of_plain = take_ungrouped(plain_turns)
    if #plain < plain_turns and not full then
      take_turns(count - #plain, taken, 0, plain_weight) -- the claimer does not handle the others
    end
    charge(plain, #taken > 0 and taken.bytes or nil)
    place_plain()
  end
  count_waiting()
  if #taken + #plain > 0 then
    advance_clock()
  end
  for _, id in ipairs(plain) do
    taken[#taken + 1] = id
  end
  local gate = redis.call('ZRANGE', group_keys.gated, 0, 0, 'WITHSCORES')[2]
  return taken, redis.call('ZCARD', group_keys.turns) > 0, ranks_of_plain, gate and math.max(1, tonumber(gate) - now)
end
