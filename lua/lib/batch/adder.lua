-- is_running(id, token): returns whether a claim of a job here is current. So an attempt that has lost its claim adds no member.
-- Needs: job.
local function is_running(id, token)
  local current, status = unpack(redis.call('HMGET', job .. id, 'claim_token', 'status'))
  return token ~= '' and current == token and status == 'processing'
end
