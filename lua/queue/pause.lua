#!lua flags=allow-oom
-- Pauses the queue for the whole fleet: it accepts jobs and hands none out.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] who pauses it, or ''
-- ARGV[2] why, or ''
-- ARGV[3] for how long in ms, or '' until a resume. The first claim after it ends the pause.
-- Returns 1 if it was not paused before, else 0. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/pause
return pause(settings, ARGV[1], ARGV[2], ARGV[3])
