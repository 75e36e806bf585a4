#!lua
-- Replaces the payload of a waiting job. Its checkpoint and steps are deleted, because they belong to the old payload.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] payload (JSON)
-- ARGV[3] the required name of the job, or '' for any
-- Returns updated | refused (it does not wait, or has another name) | missing. Repeated: the same, while it waits.
--@include lib/core/keys
--@include lib/core/read
local id, payload, expected_name = ARGV[1], ARGV[2], ARGV[3]
local status, name = unpack(read(job .. id, 'status', 'name'))
if not status then
  return 'missing'
end
if status ~= 'pending' and status ~= 'scheduled' or expected_name ~= '' and name ~= expected_name then
  return 'refused'
end
redis.call('HSET', job .. id, 'payload', payload)
redis.call('HDEL', job .. id, 'checkpoint', 'steps')
return 'updated'
