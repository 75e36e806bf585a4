#!lua flags=no-writes,allow-oom
-- Reads the subscriptions of a topic, or of all topics.
-- KEYS[1] topics  hash, topic -> its subscriptions as JSON: name -> { queue, since (ms, as text), prefix, tagged ('1' or '0'),
--   shards (as text) }
-- ARGV[1] the topic, '' for all
-- Returns for each topic its name and its subscriptions. Repeated: reads again.
local topics, topic = KEYS[1], ARGV[1]

if topic == '' then
  return redis.call('HGETALL', topics)
end
local subscriptions = redis.call('HGET', topics, topic)
return subscriptions and { topic, subscriptions } or {}
