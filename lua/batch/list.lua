#!lua flags=no-writes,allow-oom
-- Lists unfinished batches of this queue.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most to return
-- Returns, for each: its id, the number of open members, then the fields that lua/batch/status lists. Repeated: reads
--   again.
--@include lib/core/keys
--@include lib/batch/read_batch
local reply = {}
for _, id in ipairs(redis.call('ZRANGE', batches, 0, tonumber(ARGV[1]) - 1)) do
  local found = read_batch(id)
  if found then
    reply[#reply + 1] = { id, unpack(found, 1, 17) }
  end
end
return reply
