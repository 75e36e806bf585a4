#!lua flags=no-writes,allow-oom
-- Returns whether jobs of other queues may be added to a batch, before their enqueue there. An ended member may have no hash
-- in its queue.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch
-- ARGV[2] the member that adds them, ARGV[3] its token; as of batch/join
-- ARGV[4..] jobs, each queue, tab, id
-- Returns, for each: known (it is or was a member) | new (it may join) | sealed | no-batch | lost, as of batch/join.
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/batch/join
--@include lib/batch/adder
local batch, adder, token, reply = ARGV[1], ARGV[2] ~= '' and ARGV[2] or nil, ARGV[3], {}
local is_lost = token ~= '' and not is_running(adder, token)
for i = 4, #ARGV do
  local is_known = is_member(batch_record .. batch, ARGV[i])
  reply[i - 3] = is_known and 'known' or is_lost and 'lost' or batch_refusal(batch, ARGV[i], adder) or 'new'
end
return reply
