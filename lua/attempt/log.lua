#!lua
-- Appends lines to a running job's log, if the claim is current.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] how many of the newest lines are kept
-- ARGV[4..] messages, each one JSON text
-- Returns 1, or 0 if the claim is lost. Repeated: adds the lines twice.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
local id, token, cap = ARGV[1], ARGV[2], tonumber(ARGV[3])
local key = job .. id
local current, log = unpack(read(key, 'claim_token', 'log'))
if current ~= token then
  return 0
end
local lines = {}
for line in string.gmatch(log or '', '[^\n]+') do
  lines[#lines + 1] = line
end
for i = 4, #ARGV do
  lines[#lines + 1] = string.format('{"at":%.0f,"message":', now) .. ARGV[i] .. '}'
end
redis.call('HSET', key, 'log', table.concat(lines, '\n', math.max(1, #lines - cap + 1)))
return 1
