#!lua flags=allow-oom
-- Maintains batches, and jobs that wait for others. It ends jobs that must not run, because another did not end well.
-- It finds ends that no script of this library reported: purges, clients of the Redis pattern, expired hashes. It
-- cancels the members of a stopped batch, and deletes a batch that was not sealed for a week.
-- Transition: maintain-batches
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] the most jobs to read in this call
-- ARGV[12] '1' to check all batches now, not only those that are due
-- Returns more: 1 if it used up its limit; 1 if the outbox holds ends; an array of the jobs that it made dead letters;
--   then the open members in other queues: an array of those to look for, and one of those to cancel. Each has, for a
--   member, its batch, then queue, tab, id.
--   Returns nil if the queue has none of these. Repeated: continues.
--@include lib/core/keys
if redis.call('EXISTS', batches, remote_members, batch_outbox, awaiting) == 0 then
  return nil
end
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/core/events
--@include lib/retention/add_to_history
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/settle/finish
--@include lib/settle/finish_broken_end
--@include lib/place/remove_waiting
--@include lib/batch/cancel_member
local limit, reply = tonumber(ARGV[first]), { 0, 0, {}, {}, {} }
--@include lib/batch/maintain
maintain_remote_members(limit)
maintain_awaiting(limit)
maintain_batches(limit, ARGV[first + 1] == '1')
place_groups()
reply[2] = redis.call('EXISTS', batch_outbox)
return reply
