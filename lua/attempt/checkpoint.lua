#!lua flags=allow-oom
-- Stores the checkpoint of a running job for its next attempt, if the claim is current.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] the checkpoint (JSON)
-- Returns 1, or 0 if the claim is lost. Repeated: the same.
--@include lib/core/keys
--@include lib/core/read
--@include lib/enqueue/leave_plain
local id, token = ARGV[1], ARGV[2]
if read(job .. id, 'claim_token')[1] ~= token then
  return 0
end
redis.call('HSET', job .. id, 'checkpoint', ARGV[3])
leave_plain(job .. id) -- its next claim looks for the checkpoint
return 1
