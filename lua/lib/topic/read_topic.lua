-- read_topic(topic): returns the subscriptions of a topic by their names. If another program wrote its value, there are
--   none: each app declares its own again.
-- Needs: topics.
local function read_topic(topic)
  local is_read, known = pcall(cjson.decode, redis.call('HGET', topics, topic) or '{}')
  return is_read and type(known) == 'table' and known or {}
end
