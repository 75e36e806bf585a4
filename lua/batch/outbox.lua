#!lua flags=no-writes,allow-oom
-- Returns some ends for batches in other queues, at random, so that one undeliverable entry does not block others.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most to return
-- ARGV[2] the most bytes to return; the first job is returned in any case
-- ARGV[3..] queues whose entries are left out
-- Returns, for each: queue, batch and id with tabs between, then its number, state and result (JSON, or the reason of a failure), on a line
--   each. Repeated: draws again.
--@include lib/core/keys
local most, most_bytes, left_out = tonumber(ARGV[1]), tonumber(ARGV[2]), {}
for i = 3, #ARGV do
  left_out[ARGV[i]] = true
end

-- Draws ten times as many names if some are left out, because these may be most of them.
local function draw()
  local places = {}
  for _, place in ipairs(redis.call('HRANDFIELD', batch_outbox, next(left_out) and 10 * most or most)) do
    if #place > 4096 then -- no place is as long
      redis.call('HDEL', batch_outbox, place)
    elseif #places < most and not left_out[string.match(place, '^[^\t]*')] then
      places[#places + 1] = place
    end
  end
  return places
end

local places, reply, bytes = draw(), {}, 0
local entries = places[1] and redis.call('HMGET', batch_outbox, unpack(places)) or {}
for i, entry in ipairs(entries) do
  bytes = bytes + #entry
  if bytes > most_bytes and i > 1 then
    break
  end
  reply[2 * i - 1], reply[2 * i] = places[i], entry
end
return reply
