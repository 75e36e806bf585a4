#!lua flags=allow-oom
-- Adds subscriptions to the register of topics. A known one gets the queue that is declared last, or keeps its own.
-- Transition: none
-- KEYS[1] topics  hash, topic -> its subscriptions as JSON: name -> { queue, since (ms, as text), prefix }
-- ARGV[1] 1 if known ones keep their queues, else 0
-- ARGV[2..] for each subscription: its topic, its name, its queue, the prefix of the queue's keys or '' if it is not known
-- Returns for each that got another queue its position, from 1, and its queue before. Repeated: none.
local topics, keeps_known = KEYS[1], ARGV[1] == '1'
--@include lib/core/clock
--@include lib/topic/read_topic
local moved, read = {}, {}

for i = 2, #ARGV, 4 do
  local topic, name, queue, prefix = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  prefix = prefix ~= '' and prefix or nil
  read[topic] = read[topic] or read_topic(topic)
  local known = read[topic][name]
  local is_known = type(known) == 'table' and type(known.queue) == 'string'
  if not is_known or ((known.queue ~= queue or known.prefix ~= prefix) and not keeps_known) then
    if is_known and known.queue ~= queue then
      moved[#moved + 1] = (i + 2) / 4
      moved[#moved + 1] = known.queue
    end
    read[topic][name] = { queue = queue, since = is_known and known.since or now_text, prefix = prefix }
    redis.call('HSET', topics, topic, cjson.encode(read[topic]))
  end
end
return moved
