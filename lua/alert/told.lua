#!lua flags=allow-oom
-- Keeps which alerts were told.
-- Transition: none
-- KEYS[1] the record of alerts
-- ARGV[1] token of the look
-- ARGV[2] the record, as text that only its writers read
-- Returns 1 if the look was the last one, else 0 and nothing is written. Repeated: the same.
local alerts = KEYS[1]
if redis.call('HGET', alerts, 'look') ~= ARGV[1] then
  return 0
end
redis.call('HSET', alerts, 'record', ARGV[2])
return 1
