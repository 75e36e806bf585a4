#!lua
-- Sets the limits of the queue for the whole fleet, at run time. They override those of the workers until they are
-- cleared.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] max_running, or '' for none
-- ARGV[2] rate limit in jobs, or '' for none
-- ARGV[3] its period in ms
-- ARGV[4] its burst in jobs
-- ARGV[5..13] the settings of all its groups, in the order of lua/lib/limits/write_group.lua; '' for none
-- ARGV[14] how many jobs may wait, ARGV[15] how many bytes of payload; '' for the bound of each producer
-- = for a value: as it is now, so that two operators who change different limits do not undo each other.
-- Returns '', or which rate would have a part only: rateLimit | groups.rateLimit. Then nothing is changed. Repeated: the
--   same.
--@include lib/core/keys
--@include lib/limits/write
local queue_fields = { 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst', [14] = 'max_pending', [15] = 'max_pending_bytes' }
local limits = { ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11],
  ARGV[12], ARGV[13], ARGV[14], ARGV[15] }
for i, value in ipairs(limits) do
  local key, field = settings, queue_fields[i]
  if not field then
    key, field = group_defaults_key, setting_names[i - 4]
  end
  limits[i] = value == '=' and (redis.call('HGET', key, field) or '') or value
end
for first, name in pairs({ [2] = 'rateLimit', [6] = 'groups.rateLimit' }) do
  local limit, period, burst = unpack(limits, first, first + 2)
  if limit .. period .. burst ~= '' and (limit == '' or period == '') then
    return name
  end
  limits[first + 2] = limit ~= '' and burst == '' and '1' or burst
end
redis.call('HSET', settings, 'limits_set', '1')
write_limits({ unpack(limits, 1, 13) })
for field, bound in pairs({ max_pending = limits[14], max_pending_bytes = limits[15] }) do
  if bound ~= '' then
    redis.call('HSET', settings, field, bound)
  end
end
return ''
