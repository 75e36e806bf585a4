-- trim(list, state): removes ids from the end of a history if their hash has expired. With a state it also removes ids
--   in use again.
-- cut(list, cap): removes ids beyond the cap, whose jobs live evicted_ttl more.
-- Needs: evicted_ttl, limit, more, lib/core/keys, lib/core/read.

-- Returns true if the id is in use again: its job is in another state, or has ended again, nearer to the front.
local function in_use_again(list, state, id)
  if read(job .. id, 'status')[1] ~= state then
    return true
  end
  local newest = redis.call('LPOS', list, id, 'MAXLEN', 10000) -- half a millisecond
  return newest and newest < redis.call('LLEN', list) - 1
end

local function trim(list, state)
  for _ = 1, limit do
    local oldest = redis.call('LINDEX', list, -1)
    if not oldest or redis.call('EXISTS', job .. oldest) == 1 and not (state and in_use_again(list, state, oldest)) then
      return
    end
    redis.call('RPOP', list)
  end
  more = 1
end

-- Cuts a list to its cap. XX spares a hash without a TTL: a dead letter, or an id in use again.
local function cut(list, cap)
  local excess = redis.call('LLEN', list) - cap
  if excess > 0 then
    for _, id in ipairs(redis.call('RPOP', list, math.min(excess, limit))) do
      redis.call('PEXPIRE', job .. id, evicted_ttl, 'XX', 'LT')
    end
    more = excess > limit and 1 or more
  end
end
