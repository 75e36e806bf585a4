-- write_job(id, name, payload): writes the hash of a new job, with the fields of the Redis pattern. Needs: job, now_text.
local function write_job(id, name, payload)
  redis.call('HSET', job .. id, 'id', id, 'name', name, 'payload', payload, 'status', 'pending', 'attempts', '0',
    'enqueued_at_ms', now_text, 'claim_token', '')
end
