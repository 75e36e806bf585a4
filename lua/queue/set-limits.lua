#!lua
-- Sets the limits of the queue for the whole fleet, at run time. They win over those that workers configure, until cleared.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] max_running, or '' for none; ARGV[2] rate limit in jobs, or '' for none; ARGV[3] its period in ms; ARGV[4] its burst in
--   jobs
-- Returns nothing. Repeated: the same.
--@include lib/core/keys
--@include lib/limits/write
write_limits('set', ARGV[1], ARGV[2], ARGV[3], ARGV[4])
