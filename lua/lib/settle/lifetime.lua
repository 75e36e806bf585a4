-- lifetime_of(state, options, id): returns the lifetime of a completed or cancelled job, in ms. Its options decide, else
--   the queue. A run of a schedule lives 15 s at least. Workers note its end at a look every five seconds.
-- Needs: lib/retention/retention_args.
local year = 31536000000 -- ms, the longest that an option may ask for
local queue_life = { completed = result_ttl, cancelled = cancelled_ttl }

local least_of_run = 15000

local function lifetime_of(state, options, id)
  local asked = tonumber(string.match(options or '', '"resultTtlMs":(%d+)'))
  local least = string.sub(id, 1, 10) == '@schedule:' and least_of_run or 0
  return string.format('%d', math.max(least, math.min(asked or queue_life[state], year)))
end
