#!lua flags=no-writes,allow-oom
-- Lists batches of this queue: the unfinished ones, the oldest first, or the ones that ended within the last week.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] offset
-- ARGV[2] the most to return
-- ARGV[3] '1' for ended ones, the last first; '0' for unfinished ones
-- Returns, for each: its id, the number of open members, then the fields that lua/batch/status lists. Repeated: reads
--   again.
--@include lib/core/keys
--@include lib/batch/by_age
--@include lib/batch/read_batch
local offset, last, ended = tonumber(ARGV[1]), tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1, ARGV[3] == '1'

local ids = ended and redis.call('ZRANGE', batches .. '_ended', offset, last, 'REV')
  or redis.call('ZRANGE', batches_by_age, offset, last)
local reply = {}
for _, id in ipairs(ids) do
  local found = read_batch(id)
  if found and (not found[6]) == (not ended) then
    reply[#reply + 1] = { id, unpack(found, 1, 17) }
  end
end
return reply
