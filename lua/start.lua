#!lua flags=allow-oom
-- Says that a job which its claim held starts now: until then the death of its worker is not its crash.
-- KEYS: the standard keys, see lib/keys
-- ARGV[1] id; ARGV[2] token
-- Returns 1, or 0 when the claim is lost. Repeated: the same, and changes nothing.
--@include lib/keys
--@include lib/read
local key = job .. ARGV[1]
if read(key, 'claim_token')[1] ~= ARGV[2] then
  return 0
end
redis.call('HDEL', key, 'held')
return 1
