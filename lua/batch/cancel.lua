#!lua flags=allow-oom
-- Asks for the cancel of jobs here that are members of a stopped batch in another queue.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each: id
-- Returns nothing. Repeated: nothing changes.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/batch/cancel_member
for i = 1, #ARGV do
  if redis.call('HEXISTS', batch_guests, ARGV[i]) == 1 then
    cancel_member(ARGV[i])
  end
end
