-- take(count): takes up to count ids for a claim. Returns them, and whether claimable jobs are left. With urgent jobs, one claim in ten takes the oldest plain job. One in ten takes the first
--   of a random priority. So each line moves. The fraction of sequence * golden ratio decides which. It spreads evenly over
--   any even steps, so no rhythm of enqueues and claims can miss its turn.
-- Needs: pending, prioritized, sequence.
local function take_from_any(spot, waiting)
  local index = math.floor(spot * waiting)
  local picked = redis.call('ZRANGE', prioritized, index, index, 'WITHSCORES')
  local line_start = math.floor(tonumber(picked[2]) / 2 ^ 40) * 2 ^ 40
  local id = redis.call('ZRANGE', prioritized, string.format('%.0f', line_start), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  redis.call('ZREM', prioritized, id)
  return id
end

local function take_by_turn(turn, waiting)
  local share = turn * 0.6180339887498949 % 1
  if share < 0.1 then
    return redis.call('RPOP', pending) or redis.call('ZPOPMIN', prioritized)[1]
  elseif share < 0.2 then
    return take_from_any(share * 10 - 1, waiting)
  end
  return redis.call('ZPOPMIN', prioritized)[1]
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
    ids[#ids + 1] = take_by_turn(turn, waiting)
    waiting = redis.call('ZCARD', prioritized)
  end
  if #ids < count then
    for _, id in ipairs(redis.call('RPOP', pending, count - #ids) or {}) do
      ids[#ids + 1] = id
    end
  end
  return ids, #ids == count and waiting + redis.call('LLEN', pending) > 0
end
