#!lua
-- Sets the limits of the queue for the whole fleet, at run time. They win over those that workers configure, until cleared.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] max_running, or '' for none; ARGV[2] rate limit in jobs, or '' for none; ARGV[3] its period in ms; ARGV[4] its burst in
--   jobs
-- ARGV[5..12] the settings of all its groups, in the order of lua/group/set.lua, and the weight of the jobs without a group; '' for none
-- Returns nothing. Repeated: the same.
--@include lib/core/keys
--@include lib/limits/write
write_limits('set', { ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11],
  ARGV[12] })
