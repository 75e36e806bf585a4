#!lua flags=no-writes,allow-oom
-- Returns some ends for batches in other queues, at random, so that one undeliverable entry does not block others.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most to return
-- ARGV[2] the most bytes to return; the first job is returned in any case
-- Returns, for each: queue, batch and id with tabs between, then its number, state and result (JSON, or the reason of a failure), on a line
--   each. Repeated: draws again.
--@include lib/core/keys
local drawn, most_bytes = redis.call('HRANDFIELD', batch_outbox, tonumber(ARGV[1]), 'WITHVALUES'), tonumber(ARGV[2])
local reply, bytes = {}, 0
for i = 1, #drawn, 2 do
  bytes = bytes + #drawn[i + 1]
  if bytes > most_bytes and i > 1 then
    break
  end
  reply[i], reply[i + 1] = drawn[i], drawn[i + 1]
end
return reply
