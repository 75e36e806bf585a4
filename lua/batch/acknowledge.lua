#!lua flags=allow-oom
-- Removes ends from the outbox that their batch has received. An end stays if a later one of the same job replaced it.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each: queue, batch and id with tabs between, its number
-- Returns how many were removed. Repeated: 0.
--@include lib/core/keys
local gone = 0
for i = 1, #ARGV, 2 do
  local entry = redis.call('HGET', batch_outbox, ARGV[i])
  if entry and string.match(entry, '^%d+') == ARGV[i + 1] then
    gone = gone + redis.call('HDEL', batch_outbox, ARGV[i])
  end
end
return gone
