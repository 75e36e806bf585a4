#!lua flags=allow-oom
-- Gives a pause of the queue a later end. The caller names the end that it knows, so a repetition changes nothing.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the end of the pause that the caller knows, in ms
-- ARGV[2] how long the pause lasts from now on, in ms
-- Returns 1 if the pause has a new end. Else 0: it is over, has no end or another one, or would end earlier. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/limits/extend_pause
return extend_pause(settings, ARGV[1], ARGV[2])
