#!lua flags=no-writes,allow-oom
-- Returns which jobs of other queues are or were members of a batch. An ended member may have no hash in its queue.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch; ARGV[2..] jobs, each queue, tab, id
-- Returns known or new for each. Repeated: reads again.
--@include lib/core/keys
--@include lib/batch/join
local key, reply = batch_record .. ARGV[1], {}
for i = 2, #ARGV do
  reply[i - 1] = is_member(key, ARGV[i]) and 'known' or 'new'
end
return reply
