#!lua
-- Stores the progress of a running job, if the claim is current.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] progress (JSON)
-- ARGV[4] publish (listened, always, off)
-- Returns 1, or 0 if the claim is lost. Repeated: the same.
--@include lib/core/keys
--@include lib/core/read
local id, token, publish = ARGV[1], ARGV[2], ARGV[4]
--@include lib/core/events
if read(job .. id, 'claim_token')[1] ~= token then
  return 0
end
redis.call('HSET', job .. id, 'progress', ARGV[3])
emit(id, 'progress', nil, 'progress', ARGV[3])
return 1
