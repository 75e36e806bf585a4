#!lua flags=allow-oom
-- Removes news from the outbox that their batch has received. News that a later entry of the same job replaced stay.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each: queue, batch and id with tabs between, its number
-- Returns how many were removed. Repeated: 0.
--@include lib/core/keys
local gone = 0
for i = 1, #ARGV, 2 do
  local news = redis.call('HGET', batch_outbox, ARGV[i])
  if news and string.match(news, '^%d+') == ARGV[i + 1] then
    gone = gone + redis.call('HDEL', batch_outbox, ARGV[i])
  end
end
return gone
