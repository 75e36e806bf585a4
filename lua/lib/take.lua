-- take(count): takes up to count ids for a claim; answers them and whether claimable jobs are left. Where urgent jobs
-- wait, every tenth claim goes to the rest: the oldest plain job, else the first of a line picked across all
-- priorities, so that each line moves. Needs: pending, prioritized, sequence.
local function take_from_the_rest(turn, waiting)
  local id = redis.call('RPOP', pending)
  if not id then
    local picked = redis.call('ZRANGE', prioritized, turn * 7919 % waiting, turn * 7919 % waiting, 'WITHSCORES')
    local line_start = math.floor(tonumber(picked[2]) / 2 ^ 40) * 2 ^ 40
    id = redis.call('ZRANGE', prioritized, string.format('%.0f', line_start), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
    redis.call('ZREM', prioritized, id)
  end
  return id
end

local function take(count)
  local waiting = redis.call('ZCARD', prioritized)
  if waiting == 0 then
    local ids = redis.call('RPOP', pending, count) or {}
    return ids, #ids == count and redis.call('LLEN', pending) > 0
  end
  local ids, turn = {}, tonumber(redis.call('GET', sequence) or 0)
  while #ids < count and waiting > 0 do
    turn = turn + 1
    if turn % 10 == 0 then
      ids[#ids + 1] = take_from_the_rest(turn, waiting)
    else
      ids[#ids + 1] = redis.call('ZPOPMIN', prioritized)[1]
    end
    waiting = redis.call('ZCARD', prioritized)
  end
  if #ids < count then
    for _, id in ipairs(redis.call('RPOP', pending, count - #ids) or {}) do
      ids[#ids + 1] = id
    end
  end
  return ids, #ids == count and waiting + redis.call('LLEN', pending) > 0
end
