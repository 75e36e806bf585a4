-- maintain_batches(limit, all), maintain_remote_members(limit), maintain_awaiting(limit): see lua/sweep/maintain-batches.
-- reply: gets a 1 first if more is left, and third the dead letters. The members to cancel in other queues follow.
-- Needs: reply, lib/after/dependents, lib/batch/cancel_member, lib/batch/end_member, lib/core/clock, lib/core/keys.
--@include lib/batch/maintain_batch
--@include lib/after/end_unmet

--@include lib/core/bring_back
local function maintain_batches(limit, all)
  bring_back(batches, now + look_ms, now, limit)
  if all then
    for _, batch in ipairs(redis.call('ZRANGE', batches, '(0', '+inf', 'BYSCORE', 'LIMIT', 0, limit)) do
      redis.call('ZADD', batches, 0, batch)
    end
  end
  local left = limit
  for _, batch in ipairs(redis.call('ZRANGE', batches, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
    if left > 0 then
      left = left - maintain_batch(batch, left)
    end
  end
  if left <= 0 or cancel_line(limit) then
    reply[1] = 1
  end
end

-- Draws some remote members by chance, and sends the end of each that has ended.
local function maintain_remote_members(limit)
  local drawn = redis.call('HRANDFIELD', remote_members, limit, 'WITHVALUES')
  for i = 1, #drawn, 2 do
    if #drawn[i] > 2048 or #drawn[i + 1] > 4096 then -- no member, and no batches of one, are as long
      return redis.call('HDEL', remote_members, drawn[i])
    end
    local status, detail = job_end_of(drawn[i])
    if status then
      end_member(drawn[i], drawn[i + 1], status, detail)
    end
  end
end

-- Looks for the ends of the jobs of its `after`. Replies with jobs of other queues, which the caller asks. Returns how many
--   these are.
local function look_before(id, after)
  local elsewhere = reply[4]
  local known = #elsewhere
  if #after > 65536 then -- an enqueue takes a hundred jobs
    redis.call('HSET', job .. id, 'unmet', 'of a list that is too long removed')
    return 0
  end
  for before in string.gmatch(after, '[^\n]+') do
    local is_elsewhere = string.find(before, '\t', 1, true)
    local status = not is_elsewhere and job_end_of(before)
    if is_elsewhere then
      elsewhere[#elsewhere + 1], elsewhere[#elsewhere + 2] = '\n' .. id, before
    elseif status then
      update_dependent(id, before, status)
    end
  end
  return (#elsewhere - known) / 2
end

-- Returns how many further jobs it looked at. Those are the ones that wait for it in turn, if it must not run. A job whose hash
--   is gone becomes due, so that a claim sets it aside.
local function maintain_waiting(id)
  local after, since, unmet, status = unpack(redis.call('HMGET', job .. id, 'after', 'enqueued_at_ms', 'unmet', 'status'))
  if not status then
    redis.call('ZADD', scheduled, 'XX', now, id)
  end
  if not (after or unmet) or not redis.call('ZSCORE', scheduled, id) then
    redis.call('ZREM', awaiting, id)
    return 0
  end
  local age = now - (tonumber(since) or now)
  redis.call('ZADD', awaiting, 'XX', now + math.max(1000, math.min(look_ms, age / 4)), id)
  if unmet then
    return end_unmet(id, unmet)
  end
  return look_before(id, after)
end

local function maintain_awaiting(limit)
  local left = limit
  bring_back(awaiting, now + look_ms, now, limit)
  for _, id in ipairs(redis.call('ZRANGE', awaiting, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
    left = left > 0 and left - 1 - maintain_waiting(id) or left
  end
  reply[1] = redis.call('ZCOUNT', awaiting, '-inf', now) > 0 and 1 or reply[1]
end
