#!lua flags=allow-oom
-- Pauses the queue for the whole fleet: it takes jobs in and hands none out.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] who pauses it; ARGV[2] why; '' where it was not said
-- Returns 1 when it was not paused before, else 0. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/pause
return pause(settings, ARGV[1], ARGV[2])
