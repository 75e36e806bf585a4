#!lua flags=allow-oom
-- Clears a group's own settings, so that those of the code apply again. Also ends its rest, and a hold by a dead letter
-- or a retry. A pause stays.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] name
-- Returns nothing. Repeated: the same.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/group/place
--@include lib/limits/write_group
--@include lib/group/configure
local name = ARGV[1]
if redis.call('HDEL', groups .. 'state:' .. name, 'rate_set_at') == 1 then
  redis.call('HSET', group_keys.settings, 'rate_set_at', redis.call('GET', sequence) or '0') -- its claims took another amount
end
redis.call('HDEL', groups .. 'state:' .. name, 'limits_set')
hold_configured_settings(name)
local hold = redis.call('HGET', groups .. 'state:' .. name, 'hold')
if hold then
  end_hold(name, hold)
end
redis.call('HDEL', groups .. 'state:' .. name, 'rests_until_ms', 'rest_ms')
touch(name)
place_groups()
