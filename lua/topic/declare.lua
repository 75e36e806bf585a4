#!lua flags=allow-oom
-- Adds subscriptions to the register of topics. A known one gets the queue that is declared last, or keeps its own.
-- Transition: none
-- KEYS[1] topics  hash, topic -> its subscriptions as JSON: name -> { queue, since (ms, as text), prefix, tagged, shards }
-- ARGV[1] 1 if known ones keep their queues, else 0
-- ARGV[2..] for each subscription: its topic, its name, its queue, the prefix of the queue's keys or '' if it is not known, 1 if the
--   name of the queue is a hash tag there, 0 if not, '' if it is not known, the number of its shards or '' for none
-- Returns for each that got another queue its position, from 1, and its queue before. Repeated: none.
local topics, keeps_known = KEYS[1], ARGV[1] == '1'
--@include lib/core/clock
--@include lib/topic/read_topic
local moved, read = {}, {}

for i = 2, #ARGV, 6 do
  local topic, name, queue, prefix, tagged, shards = unpack(ARGV, i, i + 5)
  prefix = prefix ~= '' and prefix or nil
  tagged = tagged ~= '' and tagged or nil
  shards = shards ~= '' and shards or nil
  read[topic] = read[topic] or read_topic(topic)
  local known = read[topic][name]
  local is_known = type(known) == 'table' and type(known.queue) == 'string'
  local is_same = is_known and known.queue == queue and known.prefix == prefix and known.tagged == tagged and known.shards == shards
  if not is_known or (not is_same and not keeps_known) then
    if is_known and known.queue ~= queue then
      moved[#moved + 1] = (i + 4) / 6
      moved[#moved + 1] = known.queue
    end
    local since = is_known and known.since or now_text
    read[topic][name] = { queue = queue, since = since, prefix = prefix, tagged = tagged, shards = shards }
    redis.call('HSET', topics, topic, cjson.encode(read[topic]))
  end
end
return moved
