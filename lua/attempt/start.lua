#!lua flags=allow-oom
-- Starts a job that waited in its worker, and removes its mark as unstarted. From now on the death of its worker is its
-- crash. A job that has expired by now must not start, and stays unstarted until it is settled.
-- Transition: none
-- KEYS[1] job  prefix of the job hashes
-- ARGV[1] id
-- ARGV[2] token
-- Returns 1, 0 if the claim is lost, or why it must not start (expired, see lib/settle/refusal), so that the claimer
--   settles it as failed.
-- Repeated: the same, unless it expired in between, and nothing changes.
local job = KEYS[1]
--@include lib/core/read
local key = job .. ARGV[1]
local token, fence, attempts, expires_at = unpack(read(key, 'claim_token', 'fence', 'attempts', 'expires_at_ms'))
if token ~= ARGV[2] then
  return 0
end
if expires_at then
  -- Included here, so that a job that does not expire does not pay for it.
--@include lib/core/clock
  if (tonumber(expires_at) or 0) <= now then
--@include lib/settle/refusal
    redis.call('HSET', key, 'unstarted_fence', fence)
    return refuse(key, 'expired', math.max(0, (tonumber(attempts) or 0) - 1), '')
  end
end
redis.call('HDEL', key, 'unstarted_fence')
return 1
