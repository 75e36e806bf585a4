#!lua
-- Sets the limits of the queue for the whole fleet, at run time. They override those of the workers until they are
-- cleared.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] max_running, or '' for none
-- ARGV[2] rate limit in jobs, or '' for none
-- ARGV[3] its period in ms
-- ARGV[4] its burst in jobs
-- ARGV[5..13] the settings of all its groups, in the order of lua/lib/limits/write_group.lua; '' for none
-- ARGV[14] how many jobs may wait, ARGV[15] how many bytes of payload; '' for the bound of each producer
-- = for a value: as it is now, so that two operators who change different limits do not undo each other.
-- Returns '', or which rate would have a part only: rateLimit | groups.rateLimit. Then nothing is changed. Repeated: the
--   same.
--@include lib/core/keys
--@include lib/limits/set
return set_limits({ unpack(ARGV, 1, 15) })
