#!lua flags=no-writes,allow-oom
-- Counts the groups that rest because their key of a limit had no free permit. It looks at the lines of 1,000 of them, and names
-- those with the most waiting jobs.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most names
-- Returns how many groups rest so, how many jobs wait in those lines, then the names, the longest line first.
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
local most_named, most_looked = tonumber(ARGV[1]), 1000
local resting = redis.call('ZRANGE', groups .. 'keyed', '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, most_looked)
local depths = #resting > 0 and redis.call('ZMSCORE', groups .. 'depths', unpack(resting)) or {}
local lines, jobs = {}, 0
for i, name in ipairs(resting) do
  local depth = tonumber(depths[i] or nil) or 0
  jobs = jobs + depth
  lines[i] = { name = name, depth = depth }
end
table.sort(lines, function(a, b) return a.depth > b.depth or a.depth == b.depth and a.name < b.name end)
local reply = { redis.call('ZCOUNT', groups .. 'keyed', '(' .. now_text, '+inf'), jobs }
for i = 1, math.min(most_named, #lines) do
  reply[#reply + 1] = lines[i].name
end
return reply
