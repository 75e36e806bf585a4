-- Puts plain jobs back to the front, because claims has another type. So no job is claimed without an expiry. It is not a
--   function, because a function would bind its outside variables. lib/place/claim_waiting checks claims in a queue with
--   other than plain jobs.
-- Needs: job, pending, lib/core/read, lib/settle/claim_ids.
for i = #remembered, 2, -1 do
  local id, refused = string.match(remembered[i], '^([^\t]+)\t?(.*)$')
  local started = refused == '' or refused == 'expires' or refused == 'isolated'
  local attempts = (tonumber(read(job .. id, 'attempts')[1]) or 0) - (started and 1 or 0)
  redis.call('HSET', job .. id, 'status', 'pending', 'claim_token', '', 'claimed_at_ms', '0', 'attempts',
    string.format('%d', math.max(0, attempts)))
  redis.call('RPUSH', pending, id)
end
