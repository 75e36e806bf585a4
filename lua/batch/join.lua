#!lua
-- Adds jobs of other queues to a batch, after their enqueue there. An ended job may be known here already.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch; ARGV[2..] members, each queue, tab, id
-- Returns joined | stopped (they joined, and the next sweep cancels them) | sealed | no-batch (nothing was written).
-- Repeated: the same, and nothing changes.
--@include lib/core/keys
--@include lib/batch/join
local batch, stopped = ARGV[1], false
for i = 2, #ARGV do
  local reason = batch_refusal(batch, ARGV[i])
  if reason then
    return reason
  end
end
for i = 2, #ARGV do
  stopped = join(batch, ARGV[i])
end
if stopped then
  redis.call('ZADD', batches, 'XX', '0', batch)
end
return stopped and 'stopped' or 'joined'
