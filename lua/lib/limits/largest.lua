-- The longest visibility timeout of a claim in ms, and the largest maxPayloadBytes of a process.
--   They are fields of sweep if they are larger than usual.
-- largest_of(field): returns the value of one.
-- note_largest(field, value): stores a larger one, before or with its first use.
-- Needs: sweep.
local usual = { longest_visibility_ms = 30000, largest_payload_bytes = 16777216 }

local function largest_of(field)
  return tonumber(redis.call('HGET', sweep, field) or nil) or usual[field]
end

local function note_largest(field, value)
  if value > usual[field] and value > largest_of(field) then
    redis.call('HSET', sweep, field, string.format('%d', value))
  end
end
