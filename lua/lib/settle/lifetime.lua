-- lifetime_of(state, name, options): how long a completed or cancelled job lives, in ms: by its own options, its handler, the queue.
-- Needs: result_ttl, cancelled_ttl, own_retention.
local year = 31536000000 -- ms, the longest that an option may ask for
local queue_life = { completed = result_ttl, cancelled = cancelled_ttl }

local function lifetime_of(state, name, options)
  local own = retention_of(name)
  local asked = tonumber(string.match(options or '', '"resultTtlMs":(%d+)'))
  local life = asked or own and own.life[state] or queue_life[state]
  return string.format('%d', math.min(life, year))
end
