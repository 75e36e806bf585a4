-- trim_histories(): see lua/tidy.lua. Needs: job, histories, limit, more, now, read.

-- Of the handlers' histories, the jobs that are gone, or have another life by now. A part of a long one, from anywhere in
-- it: so those of a name without a handler go in time too.
local function trim_histories()
  local size = redis.call('ZCARD', histories)
  local from = size > limit and now % (size - limit + 1) or 0
  local gone = 0
  for _, member in ipairs(redis.call('ZRANGE', histories, from, from + limit - 1)) do
    local completed_at, id = string.match(member, ' (%d+) (%S+)$')
    if read(job .. id, 'completed_at_ms')[1] ~= completed_at then
      gone = gone + redis.call('ZREM', histories, member)
    end
  end
  more = gone == limit and 1 or more
end
