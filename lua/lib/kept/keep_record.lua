-- keep_record(id): keeps the record of an ended job, beyond its lifetime and the history, because others wait to read it.
--   lua/sweep/look-at-kept finds out when they no longer do.
-- Needs: job, kept_results, lib/core/clock.
local first_look = 30000

local function keep_record(id)
  redis.call('ZADD', kept_results, string.format('%d', now + first_look), id)
  redis.call('PERSIST', job .. id)
end
