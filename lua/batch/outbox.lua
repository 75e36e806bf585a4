#!lua flags=no-writes,allow-oom
-- Some of the news for batches in other queues, drawn by chance, so that one that cannot be delivered holds up no other.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most to return; ARGV[2] how many bytes to return: the first comes in any case, each other only within them
-- Returns, for each: queue|batch|id, then its number, a line feed, the state, a line feed, and the result as JSON or why it
--   failed. Repeated: draws again.
--@include lib/core/keys
local drawn, most_bytes = redis.call('HRANDFIELD', batch_outbox, tonumber(ARGV[1]), 'WITHVALUES'), tonumber(ARGV[2])
local answer, bytes = {}, 0
for i = 1, #drawn, 2 do
  bytes = bytes + #drawn[i + 1]
  if bytes > most_bytes and i > 1 then
    break
  end
  answer[i], answer[i + 1] = drawn[i], drawn[i + 1]
end
return answer
