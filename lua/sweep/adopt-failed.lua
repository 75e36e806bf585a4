#!lua flags=allow-oom
-- Moves jobs that a client of the Redis pattern has just failed into dead, when their events arrive. The client's
-- history keeps only 50 failures, and their hashes expire.
-- Transition: adopt-failed
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] dead_letter_cap, unless a worker announced it
-- ARGV[2..] ids
-- Returns how many were taken. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/retention/announced_queue_limits
local dead_letter_cap = announced.dead_letter_cap or tonumber(ARGV[1])
--@include lib/group/place
--@include lib/retention/trim_dead_letters
--@include lib/core/rank
--@include lib/foreign/name_in_payload
--@include lib/group/join
--@include lib/place/requeue
--@include lib/settle/report_failure
--@include lib/settle/adopt_failure
local adopted = 0
for i = 2, #ARGV do
  adopted = adopted + adopt_failure(ARGV[i])
end
trim_dead_letters(100)
place_groups()
return adopted
