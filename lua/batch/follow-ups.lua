#!lua flags=allow-oom
-- Reads follow-ups that wait in the outbox for their queue. Draws the fence of their sender in the same step. So a
-- sender with a larger fence has read later, and only the last one acknowledges. See docs/internals/batches.md.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the fence of another sender that this one must exceed; 0 for none
-- ARGV[2] the most bytes to return; the first follow-up is returned in any case
-- ARGV, then for each: queue, batch and id with tabs between, its number
-- Returns the fence, then for each that is still in the outbox: its position (from 1), its age in ms, its name, its payload
--   and its options. Four times '' in place of these before its batch has fired, and beyond that many bytes.
-- Repeated: the same with another fence.
--@include lib/core/keys
--@include lib/core/clock
local least, most_bytes, bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
if tonumber(redis.call('GET', sequence) or 0) < least then
  redis.call('SET', sequence, ARGV[1]) -- this queue was restored from a backup
end
local fence = string.format('%d', redis.call('INCR', sequence))
redis.call('HSET', sweep, 'follow_up_fence', fence)
local reply = { fence }

-- Returns when a batch fired, and the name, payload and options of a follow-up. An entry without its batch is forgotten.
local function read_follow_up(place, kind)
  local key = batch_record .. string.match(place, '\t(.-)\t')
  local fired, name, payload, options = unpack(redis.call('HMGET', key, 'fired_at_ms', kind .. '_name', kind .. '_payload',
    kind .. '_options'))
  if not name then
    redis.call('HDEL', batch_outbox, place)
  end
  return fired, name, payload, options
end

for i = 3, #ARGV, 2 do
  local entry = redis.call('HGET', batch_outbox, ARGV[i])
  local number, kind = string.match(entry or '', '^(%d+)\n([%l_]+)\n')
  if number == ARGV[i + 1] then
    local fired, name, payload, options = read_follow_up(ARGV[i], kind)
    local n = #reply
    if name and fired and bytes <= most_bytes then
      bytes = bytes + #payload
      reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = (i - 1) / 2, now - tonumber(fired), name, payload, options
    elseif name then
      reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = (i - 1) / 2, '', '', '', ''
    end
  end
end
return reply
