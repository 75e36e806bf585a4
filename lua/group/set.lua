#!lua
-- Sets the settings of one group, which override those of all groups until they are cleared. Ends no running job.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] name; the others are '' for the value of all groups
-- ARGV[2] max_running
-- ARGV[3] rate limit in jobs
-- ARGV[4] its period in ms
-- ARGV[5] its burst in jobs
-- ARGV[6] weight
-- ARGV[7] max_pending in jobs
-- ARGV[8] on_dead_head: skip | hold
-- ARGV[9] max_pending_bytes.
-- Returns nothing. Repeated: the same.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/group/place
--@include lib/limits/write_group
local name = ARGV[1]
mark_state(name)
redis.call('HSET', groups .. 'state:' .. name, 'limits_set', '1')
write_group_settings(groups .. 'state:' .. name, { ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], '', ARGV[9] })
touch(name)
place_groups()
