#!lua flags=allow-oom
-- Adds the names of queues to the register of their Redis, so that others find them. It keeps the last 10,000 names.
-- Transition: none
-- KEYS: for each queue the register (sorted set, score = when the name was last added, in ms)
-- ARGV: for each queue its name
-- Returns nothing. Repeated: the same.
--@include lib/core/clock
local registers = KEYS

for i, name in ipairs(ARGV) do
  redis.call('ZADD', registers[i], now, name)
  if redis.call('ZCARD', registers[i]) > 10000 then
    redis.call('ZPOPMIN', registers[i])
  end
end
