-- remember(marks, most): remembers ids that callers gave to jobs which end now, until their records would have expired.
--   marks: for each a score, see score_of, and its mark. most: the bound. Beyond it the ids that expire first are
--   forgotten, a hundred more than were added at most.
-- score_of(lasts_until, state): returns the score of a mark: the instant in ms, which is odd for a cancelled job.
-- Needs: ended_ids.
--@include lib/ids/mark_of
local function score_of(lasts_until, state)
  return string.format('%d', lasts_until - lasts_until % 2 + (state == 'cancelled' and 1 or 0))
end

local function remember(marks, most)
  redis.call('ZADD', ended_ids, unpack(marks))
  redis.call('PERSIST', ended_ids) -- a server that evicts keys with a lifetime must not forget an id; an earlier version set one
  local excess = redis.call('ZCARD', ended_ids) - most
  if excess > 0 then
    redis.call('ZREMRANGEBYRANK', ended_ids, 0, math.min(excess, #marks + 100) - 1)
  end
end
