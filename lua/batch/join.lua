#!lua flags=allow-oom
-- Adds jobs of other queues to a batch. It also works if Redis is full, because these jobs are enqueued already. An ended
-- job may be known here already. A sealed batch takes only the jobs that an open member adds while it runs.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch
-- ARGV[2] the member that adds them: its id, or its queue, a tab and its id; '' for none
-- ARGV[3] its token, if it is a job of this queue; else ''
-- ARGV[4..] members, each queue, tab, id
-- Returns joined | stopped (they joined, and the next sweep cancels them). Else nothing was written: sealed | no-batch, or
--   lost if the claim of the member that adds them is not current.
-- Repeated: the same, and nothing changes.
--@include lib/core/keys
--@include lib/batch/join
--@include lib/batch/adder
local batch, adder, token, stopped = ARGV[1], ARGV[2] ~= '' and ARGV[2] or nil, ARGV[3], false
if token ~= '' and not is_running(adder, token) then
  return 'lost'
end
for i = 4, #ARGV do
  local reason = batch_refusal(batch, ARGV[i], adder)
  if reason then
    return reason
  end
end
for i = 4, #ARGV do
  stopped = join(batch, ARGV[i])
end
if stopped then
  redis.call('ZADD', batches, 'XX', '0', batch)
end
return stopped and 'stopped' or 'joined'
