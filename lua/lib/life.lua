-- life_of(name, options): how long a completed or cancelled job lives, in ms: by its own options, its handler, the queue.
-- Needs: result_ttl, own_retention.
local year = 31536000000 -- ms, the longest that an option may ask for

local function life_of(name, options)
  local own = retention_of(name)
  local life = tonumber(string.match(options or '', '"resultTtlMs":(%d+)')) or own and own.life or result_ttl
  return string.format('%d', math.min(life, year))
end
