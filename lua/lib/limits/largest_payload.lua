-- note_largest_payload(bytes): stores the largest maxPayloadBytes that a process of this queue has, if it is larger than
--   usual. A claim reads it before it refuses a giant payload, see lib/limits/raise_giant.
-- Needs: sweep.
local usual_payload = 16777216 -- a giant payload has more than twice this in any case

local function note_largest_payload(bytes)
  if bytes > usual_payload and bytes > (tonumber(redis.call('HGET', sweep, 'largest_payload_bytes') or nil) or 0) then
    redis.call('HSET', sweep, 'largest_payload_bytes', string.format('%d', bytes))
  end
end
