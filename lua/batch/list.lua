#!lua flags=no-writes,allow-oom
-- Lists batches of this queue: the unfinished ones, or the ones that ended within the last week.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most to return
-- ARGV[2] '1' for ended ones, the last first; '0' for unfinished ones
-- Returns, for each: its id, the number of open members, then the fields that lua/batch/status lists. Repeated: reads
--   again.
--@include lib/core/keys
--@include lib/batch/read_batch
local most, ended = tonumber(ARGV[1]) - 1, ARGV[2] == '1'
local ids = ended and redis.call('ZRANGE', batches .. '_ended', 0, most, 'REV') or redis.call('ZRANGE', batches, 0, most)
local reply = {}
for _, id in ipairs(ids) do
  local found = read_batch(id)
  if found and (found[6] or not ended) then
    reply[#reply + 1] = { id, unpack(found, 1, 17) }
  end
end
return reply
