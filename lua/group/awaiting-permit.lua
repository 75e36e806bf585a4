#!lua flags=no-writes,allow-oom
-- Counts the groups that rest because their key of a limit had no free permit. It names those with the most waiting jobs.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most names
-- Returns how many groups rest so, how many jobs wait in their lines (in 1,000 of them), then the names, the longest line first.
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/group/awaiting_permit
local most_named = tonumber(ARGV[1])
local count, jobs, lines = awaiting_permit()
table.sort(lines, function(a, b) return a.depth > b.depth or a.depth == b.depth and a.name < b.name end)
local reply = { count, jobs }
for i = 1, math.min(most_named, #lines) do
  reply[#reply + 1] = lines[i].name
end
return reply
