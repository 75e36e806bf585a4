#!lua flags=allow-oom
-- Cancels jobs here that are members of a stopped batch in another queue.
-- Transition: cancel
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11..] ids
-- Returns nothing. Repeated: goes on with the walk through pending, see lib/batch/cancel_member.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/events
--@include lib/retention/add_to_history
--@include lib/group/place
--@include lib/settle/finish
--@include lib/place/remove_waiting
--@include lib/batch/cancel_member
for i = first, #ARGV do
  if redis.call('HEXISTS', remote_members, ARGV[i]) == 1 then
    cancel_member(ARGV[i])
  end
end
cancel_line(#ARGV) -- maintenance of this queue goes on with it
place_groups()
