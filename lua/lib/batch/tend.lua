-- tend_batches(limit, all), tend_guests(limit), tend_awaiting(limit): see lua/sweep/tend-batches.
-- Needs: keys, clock, read, job_ended, cancel_member; answer, whose first is set to 1 where more is left, and to which members to be cancelled
-- in other queues are added.
local look_ms = 60000 -- how often all members of a batch are looked at
local unsealed_ms = 604800000
local ended_states = { completed = true, failed = true, cancelled = true }

-- How a job has ended, and its result or why; nil where it has not.
local function end_of(id)
  local status, result, last_error = unpack(read(job .. id, 'status', 'result', 'last_error'))
  if not status then
    return 'removed', ''
  end
  return ended_states[status] and status, status == 'failed' and last_error or result or ''
end

local function tend_member(batch, member, fired, stopped)
  if string.find(member, '|', 1, true) then
    if stopped and not fired then
      answer[#answer + 1] = member
    end
    return
  end
  local status, detail = end_of(member)
  if status and not (fired and status == 'failed') then
    note_end(batch, member, status, detail)
  elseif stopped and not status and not fired then
    cancel_member(member)
  end
end

-- A pass through the open members, which goes on where the last call ended.
local function tend_batch(batch, limit)
  local key = batch_record .. batch
  local created, sealed, fired, stopped, from = unpack(redis.call('HMGET', key, 'created_at_ms', 'sealed_at_ms',
    'fired_at_ms', 'stopped_at_ms', 'tended'))
  if not created or not sealed and now - tonumber(created) > unsealed_ms then
    redis.call('UNLINK', key, key .. ':open', key .. ':members', key .. ':outcomes', key .. ':seen')
    redis.call('ZREM', batches, batch)
    return 1
  end
  redis.call('ZADD', batches, now + look_ms, batch)
  local members = redis.call('ZRANGE', key .. ':open', '(' .. (from or '-1'), '+inf', 'BYSCORE', 'LIMIT', 0, limit,
    'WITHSCORES')
  for i = 1, #members, 2 do
    tend_member(batch, members[i], fired, stopped)
  end
  if #members == 2 * limit then
    redis.call('HSET', key, 'tended', members[#members])
    redis.call('ZADD', batches, 'XX', 0, batch)
  else
    redis.call('HDEL', key, 'tended')
    if sealed and not fired and #members == 0 and redis.call('ZCARD', key .. ':open') == 0 then
      fire(batch, key) -- none is left that could
    end
  end
  return #members / 2 + 1
end

local function tend_batches(limit, all)
  if all then
    for _, batch in ipairs(redis.call('ZRANGE', batches, '(0', '+inf', 'BYSCORE', 'LIMIT', 0, limit)) do
      redis.call('ZADD', batches, 0, batch)
    end
  end
  local left = limit
  for _, batch in ipairs(redis.call('ZRANGE', batches, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
    if left > 0 then
      left = left - tend_batch(batch, left)
    end
  end
  if left <= 0 then
    answer[1] = 1
  end
end

-- Some of many, drawn by chance.
local function tend_guests(limit)
  local drawn = redis.call('HRANDFIELD', batch_guests, limit, 'WITHVALUES')
  for i = 1, #drawn, 2 do
    local status, detail = end_of(drawn[i])
    if status then
      end_member(drawn[i], drawn[i + 1], status, detail)
    end
  end
end

local function tend_awaiting(limit)
  local ids = redis.call('ZRANGE', awaiting, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    local after, since, polled = unpack(redis.call('HMGET', job .. id, 'after', 'enqueued_at_ms', 'after_polled'))
    if not after or not redis.call('ZSCORE', scheduled, id) then
      redis.call('ZREM', awaiting, id)
    else
      local age = now - (tonumber(since) or now)
      redis.call('ZADD', awaiting, 'XX', now + (polled and 1000 or math.max(1000, math.min(look_ms, age / 4))), id)
      for ended in string.gmatch(after, '%S+') do
        local status = end_of(ended)
        if status then
          tell_dependent(id, ended, status)
        end
      end
    end
  end
  answer[1] = #ids == limit and 1 or answer[1]
end
