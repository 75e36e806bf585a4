#!lua flags=allow-oom
-- Extends permits of running jobs. A permit whose time was over stays lost, because another job may have it.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- ARGV[1] queue, as its keys spell it
-- ARGV[2] worker
-- ARGV[3] how long a permit lasts from now on, in ms
-- ARGV[4..] for each permit: the token of its claim, a tab and its number
-- Returns nothing. Repeated: extends them again.
local limit, permits, waiting, seen, rates = unpack(KEYS)
--@include lib/core/clock
--@include lib/shared_limit/key
local life, extended = tonumber(ARGV[3]), {}
for i = 4, #ARGV do
  extended[#extended + 1], extended[#extended + 2] = string.format('%.0f', now + life), ARGV[1] .. '\t' .. ARGV[2] .. '\t' .. ARGV[i]
end
if #extended > 0 then
  redis.call('ZADD', permits, 'XX', unpack(extended))
end
if life > (tonumber(redis.call('HGET', limit, 'longest_ms') or nil) or 0) then
  redis.call('HSET', limit, 'longest_ms', string.format('%.0f', life))
end
keep_key(life)
