#!lua flags=no-writes,allow-oom
-- Lists open members of batches that have not fired: the oldest members of the batches that the sweep checks next.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most batches to read
-- ARGV[2] the most members of each batch
-- Returns, for each: batch, then the id of a member here, or queue, tab, id of a member in another queue; last, 1 if the
--   sweep is late with this batch by a minute, else 0. Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
local reply = {}
for _, batch in ipairs(redis.call('ZRANGE', batches, 0, tonumber(ARGV[1]) - 1)) do
  local key = batch_record .. batch
  if redis.call('HEXISTS', key, 'fired_at_ms') == 0 then
    local due = tonumber(redis.call('ZSCORE', batches, batch))
    local is_late = due > 0 and due < now - 60000 and '1' or '0' -- 0: to be checked at once
    for _, member in ipairs(redis.call('ZRANGE', key .. '/open', 0, tonumber(ARGV[2]) - 1)) do
      local n = #reply
      reply[n + 1], reply[n + 2], reply[n + 3] = batch, member, is_late
    end
  end
end
return reply
