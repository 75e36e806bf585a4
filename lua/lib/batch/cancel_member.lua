-- cancel_member(id): cancels a waiting job, without a turn and without a rate. A running job is notified at once. A job in
--   pending is only marked, because a search for one id there is O(its length).
-- cancel_line(limit): walks on through pending, and ends up to `limit` marked jobs. The next call goes on from there.
--   Returns true if the walk is not done. So the members of all stopped batches end in one walk, in slices. A claim that is
--   faster ends them too.
-- The walk goes from the newest job to the oldest one. So claims take only entries that are not read yet, and new jobs move
--   entries that were read. A job that is marked behind the walk starts it again.
-- Needs: lib/core/clock, lib/core/keys, lib/core/read, lib/place/remove_waiting, lib/settle/finish.
--@include lib/newest/hand_back
--@include lib/signal/parked
local line_read = 2000 -- the entries that one call reads

local function cancel_member(id)
  local status, worker, token, waits = unpack(read(job .. id, 'status', 'worker', 'claim_token', 'waits'))
  if status ~= 'pending' and status ~= 'scheduled' and status ~= 'processing' then
    return
  end
  if status ~= 'processing' and remove_sorted(id) then
    hand_back(id)
    leave_wait(id, waits)
    return end_cancelled(id)
  end
  redis.call('HSETNX', job .. id, 'cancel_requested_at_ms', now_text)
  if status == 'pending' then
    redis.call('HSET', sweep, 'line_marked', '1')
  elseif worker and token and token ~= '' then
    redis.call('ZADD', nudge .. worker, 1, 'cancel')
    redis.call('PEXPIRE', nudge .. worker, 10000)
  end
end

-- Returns the spots of the jobs in this part of pending that are to be cancelled, and how many others it passed.
local function marked_in(entries, limit)
  local marked, passed = {}, 0
  for i, id in ipairs(entries) do
    local status, requested = unpack(read(job .. id, 'status', 'cancel_requested_at_ms'))
    if not requested or status ~= 'pending' and status ~= 'cancelled' then
      passed = passed + 1
    elseif #marked < limit then
      marked[#marked + 1] = { id = id, spot = i, status = status }
    else
      break
    end
  end
  return marked, passed
end

-- Ends the jobs first. If the step breaks off, pending has ids of ended jobs. A claim drops these, and the next walk too.
-- The list gets one of these ids in place of each, so one search removes all of them.
local function end_marked(marked, from)
  for _, each in ipairs(marked) do
    if each.status == 'pending' then
      end_cancelled(each.id)
    end
  end
  local last = marked[#marked]
  local is_near_head = from + last.spot <= redis.call('LLEN', pending) / 2
  for _, each in ipairs(marked) do
    redis.call('LSET', pending, from + each.spot - 1, last.id)
  end
  redis.call('LREM', pending, is_near_head and #marked or -#marked, last.id)
end

local function cancel_line(limit)
  local from, is_marked = unpack(redis.call('HMGET', sweep, 'line_from', 'line_marked'))
  if not from and not is_marked then
    return false
  elseif not from then
    redis.call('HDEL', sweep, 'line_marked')
  end
  from = tonumber(from) or 0
  local entries = redis.call('LRANGE', pending, from, from + line_read - 1)
  local marked, passed = marked_in(entries, limit)
  if marked[1] then
    end_marked(marked, from)
  end
  if #entries < line_read and #marked + passed == #entries then
    redis.call('HDEL', sweep, 'line_from')
    return redis.call('HEXISTS', sweep, 'line_marked') == 1
  end
  redis.call('HSET', sweep, 'line_from', string.format('%d', from + passed))
  return true
end
