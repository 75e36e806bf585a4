-- lifetime_of(state, options): returns the lifetime of a completed or cancelled job, in ms, by its options, else by the
--   queue.
-- Needs: lib/retention/retention_args.
local year = 31536000000 -- ms, the longest that an option may ask for
local queue_life = { completed = result_ttl, cancelled = cancelled_ttl }

local function lifetime_of(state, options)
  local asked = tonumber(string.match(options or '', '"resultTtlMs":(%d+)'))
  return string.format('%d', math.min(asked or queue_life[state], year))
end
