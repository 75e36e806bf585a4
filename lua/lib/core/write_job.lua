-- write_job(id, name, payload, metadata): writes the hash of a new job, with stored options if metadata is its only
--   option.
-- A waiting job has no id, no attempts and no claim_token: each costs memory in every job. Clients of the Redis pattern
--   take the id from its list. They read missing attempts as 0, and write the token with their claim.
-- Needs: job, lib/core/clock.
local function write_job(id, name, payload, metadata)
  if metadata then
    redis.call('HSET', job .. id, 'name', name, 'payload', payload, 'status', 'pending', 'enqueued_at_ms', now_text,
      'options', metadata)
  else
    redis.call('HSET', job .. id, 'name', name, 'payload', payload, 'status', 'pending', 'enqueued_at_ms', now_text)
  end
end
