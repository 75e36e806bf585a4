#!lua flags=allow-oom
-- Ends a pause, and wakes a worker.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- Returns 1 when the queue was paused, else 0. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/pause
--@include lib/core/wake
return resume(settings)
