#!lua flags=allow-oom
-- Passes on the wake of a worker that cannot claim now, because it stops or has no free slot. The worker is no waiter of
-- the queue from now on. If jobs wait, another worker is woken: the next job would wake one by itself.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] worker
-- Returns 1. Repeated: wakes one more worker, which finds nothing.
--@include lib/core/keys
local worker = ARGV[1]
redis.call('ZREM', string.sub(wake, 1, -5) .. 'waiters', worker)
if redis.call('EXISTS', pending, prioritized, scheduled, groups .. 'depths') > 0 then
--@include lib/core/wake
end
return 1
