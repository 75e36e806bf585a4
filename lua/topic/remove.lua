#!lua flags=allow-oom
-- Ends a subscription: later publications add no job for it.
-- Transition: none
-- KEYS[1] topics  hash, topic -> its subscriptions as JSON: name -> { queue, since (ms, as text), prefix }
-- ARGV[1] topic
-- ARGV[2] the name of the subscription
-- Returns 1, or 0 if there was none. Repeated: 0.
local topics, topic, name = KEYS[1], ARGV[1], ARGV[2]
--@include lib/topic/read_topic
local subscriptions = read_topic(topic)
if not subscriptions[name] then
  return 0
end
subscriptions[name] = nil
if next(subscriptions) then
  redis.call('HSET', topics, topic, cjson.encode(subscriptions))
else
  redis.call('HDEL', topics, topic)
end
return 1
