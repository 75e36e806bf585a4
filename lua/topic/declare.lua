#!lua flags=allow-oom
-- Adds subscriptions to the register of topics. A known one gets the queue that is declared last, or keeps its own.
-- Transition: none
-- KEYS[1] topics  hash, topic -> its subscriptions as JSON: name -> { queue, since (ms, as text), prefix, tagged }
-- ARGV[1] 1 if known ones keep their queues, else 0
-- ARGV[2..] for each subscription: its topic, its name, its queue, the prefix of the queue's keys or '' if it is not known, 1 if the
--   name of the queue is a hash tag there, 0 if not, '' if it is not known
-- Returns for each that got another queue its position, from 1, and its queue before. Repeated: none.
local topics, keeps_known = KEYS[1], ARGV[1] == '1'
--@include lib/core/clock
--@include lib/topic/read_topic
local moved, read = {}, {}

for i = 2, #ARGV, 5 do
  local topic, name, queue, prefix, tagged = unpack(ARGV, i, i + 4)
  prefix = prefix ~= '' and prefix or nil
  tagged = tagged ~= '' and tagged or nil
  read[topic] = read[topic] or read_topic(topic)
  local known = read[topic][name]
  local is_known = type(known) == 'table' and type(known.queue) == 'string'
  if not is_known or ((known.queue ~= queue or known.prefix ~= prefix or known.tagged ~= tagged) and not keeps_known) then
    if is_known and known.queue ~= queue then
      moved[#moved + 1] = (i + 3) / 5
      moved[#moved + 1] = known.queue
    end
    read[topic][name] = { queue = queue, since = is_known and known.since or now_text, prefix = prefix, tagged = tagged }
    redis.call('HSET', topics, topic, cjson.encode(read[topic]))
  end
end
return moved
