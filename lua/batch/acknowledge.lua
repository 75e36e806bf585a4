#!lua flags=allow-oom
-- Takes news out of the outbox that their batch has. One that a later piece of news of the same job has replaced stays.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each: queue|batch|id, its number
-- Returns how many went. Repeated: 0.
--@include lib/core/keys
local gone = 0
for i = 1, #ARGV, 2 do
  local news = redis.call('HGET', batch_outbox, ARGV[i])
  if news and string.match(news, '^%d+') == ARGV[i + 1] then
    gone = gone + redis.call('HDEL', batch_outbox, ARGV[i])
  end
end
return gone
