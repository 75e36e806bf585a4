-- Returns again the jobs that the claim with this token got and still holds, from the memory of the batch. That is the
--   token, then a line for each id, with its verdict after a tab. Jobs that exceed the bytes go back. It is not a
--   function, because a function would bind its outside variables.
-- Needs: batch, bytes, claims, full, giant_bytes, groups, hand_over, job, last, limited_by, most_bytes, pending,
--   prioritized, settings, token, lib/core/clock, lib/core/read.
--@include lib/limits/refund
local handed, beyond = { token }, {}
for line, id, verdict in string.gmatch(last, '\n(([^\n\t]+)\t?([^\n]*))') do
  local current, name, payload, attempts, fence, enqueued_at, options, checkpoint = unpack(read(job .. id,
    'claim_token', 'name', 'payload', 'attempts', 'fence', 'enqueued_at_ms', 'options', 'checkpoint'))
  if current == token then
    if payload and #payload > giant_bytes then
--@include lib/limits/raise_giant
      payload = #payload <= giant_bytes and payload
    end
    bytes = bytes + #(payload or '')
    if bytes > most_bytes and #handed > 1 then
      beyond[#beyond + 1] = { id, verdict, tonumber(attempts) or 0, fence }
    else
      local mark = redis.call('HGET', job .. id, 'unstarted:' .. (fence or ''))
      local unstarted = mark and mark ~= 'refused'
      handed[#handed + 1] = line
      hand_over(id, name, payload, enqueued_at,
        { tonumber(attempts) or 0, options, verdict, unstarted, tonumber(fence) or 0, checkpoint or nil })
    end
  end
end
-- Puts a job of a group back to its place in the line, and counts it. The next claim places the group again, because
-- its gate is open.
local function to_group(id, group)
  local rank = redis.call('HGET', job .. id, 'rank') or 0
  redis.call('ZREM', groups .. 'running:' .. group, id)
  redis.call('ZADD', groups .. 'waiting:' .. group, rank, id)
  redis.call('ZADD', groups .. 'gated', now_text, group)
  redis.call('ZINCRBY', groups .. 'depths', '1', group)
  redis.call('ZADD', groups .. 'heads', 'LT', string.format('%.0f', tonumber(rank) % 2 ^ 40), group)
  redis.call('HINCRBY', groups .. 'settings', 'waiting', '1')
end

-- The job claimed first must be claimed first again, so it is put to the front last. Its attempt never started.
for i = #beyond, 1, -1 do
  local id, verdict, attempts, fence = unpack(beyond[i])
  local began = verdict == '' or verdict == 'expires' or verdict == 'isolated'
  refund_all(id)
  redis.call('HSET', job .. id, 'status', 'pending', 'claim_token', '', 'claimed_at_ms', '0', 'ready_at_ms', now_text,
    'attempts', string.format('%d', math.max(0, attempts - (began and 1 or 0))))
  redis.call('HDEL', job .. id, 'unstarted:' .. (fence or ''))
  redis.call('ZREM', claims, id)
  local priority, rank, group = unpack(read(job .. id, 'priority', 'rank', 'group'))
  if group then
    to_group(id, group)
  elseif priority and rank then
    redis.call('ZADD', prioritized, rank, id)
  else
    redis.call('RPUSH', pending, id)
  end
end
local most_running, any_rate, any_groups, rests = unpack(redis.call('HMGET', settings, 'max_running', 'rate_limit', 'has_groups',
  'rests_until_ms'))
limited_by = (most_running or any_groups) and 'awaits-slots' -- perhaps; a claim too many costs little
  or (any_rate or (tonumber(rests or nil) or 0) > now) and 'limited' or nil
if #beyond > 0 then
  full = true
  redis.call('SET', batch, table.concat(handed, '\n'), 'KEEPTTL')
--@include lib/core/wake
end
