#!lua flags=allow-oom
-- Moves due jobs: scheduled -> pending or prioritized. Claim does so too. This call is the sweep's, for a queue with
-- busy workers, and for operators' figures.
-- Transition: promote
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most jobs to move in this call
-- Returns how many were moved. Repeated: moves the next slice.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/promote
--@include lib/group/open_groups
local moved = promote(tonumber(ARGV[1]), rejoin_group)
open_groups(tonumber(ARGV[1]))
place_groups()
if moved > 0 then
--@include lib/core/wake
end
return moved
