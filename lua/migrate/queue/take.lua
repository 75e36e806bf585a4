#!lua flags=allow-oom
-- Takes jobs out of one place of a queue that moves: waiting or failed -> in transit. Each leaves a forwarding record, so a
--   repeated enqueue adds nothing. See docs/internals/moving.md.
-- Transition: move
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] fence    of this mover
-- ARGV[2] place    pending, prioritized, scheduled, group or dead
-- ARGV[3] to       the new place in words
-- ARGV[4..] ids    in the order in which they would run
-- Returns stale if another mover has begun. Else for each id: taken, gone (not in this place) or the reason why it stays now:
--   group (one of its group runs), batch (its batch is here), dependents (a job that waits for it is here), elsewhere (another
--   queue has its batch, or waits for it, or is waited for), broken (its hash is gone).
-- Repeated: gone for each that was taken.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/count
--@include lib/core/read
--@include lib/group/place
--@include lib/kind/change_kind
--@include lib/move/transit
--@include lib/signal/parked
local fence, place, to = ARGV[1], ARGV[2], ARGV[3]
local short_ms, long_ms = '600000', '604800000' -- the lifetimes of forwarding records
local sorted = { prioritized = prioritized, scheduled = scheduled, dead = dead }
if is_overtaken(fence) then
  return 'stale'
end

local function has_tab(text)
  return text and string.find(text, '\t', 1, true)
end

-- Returns whether a job here still waits for this one.
local function is_waited_for(id, dependents)
  local left = 1000
  for other in string.gmatch(dependents, '[^\n]+') do
    local status, after, moved = unpack(redis.call('HMGET', job .. other, 'status', 'after', 'moved'))
    if status and not moved and after and string.find('\n' .. after .. '\n', '\n' .. id .. '\n', 1, true) then
      return true
    end
    left = left - 1
    if left == 0 then
      return false
    end
  end
  return false
end

-- Returns whether the record of its batch is here, and has not ended.
local function is_batch_here(batch)
  local created, ended = unpack(redis.call('HMGET', batch_record .. batch, 'created_at_ms', 'ended_at_ms'))
  return created and not ended
end

local function reason_to_stay(id, status, batch, dependents, after, group)
  local own_batch = batch and string.gsub(batch, '^\t', '')
  if not status then
    return 'broken'
  elseif has_tab(own_batch) or has_tab(dependents) or has_tab(after) or redis.call('HEXISTS', remote_members, id) == 1 then
    return 'elsewhere'
  elseif own_batch and is_batch_here(own_batch) then
    return 'batch'
  elseif dependents and is_waited_for(id, dependents) then
    return 'dependents'
  elseif group and place ~= 'dead' and redis.call('EXISTS', groups .. 'running:' .. group) == 1 then
    return 'group'
  end
end

-- Removes an id from the place. Returns its score, '' of a list, nil if it was not there.
local function leave(id, group)
  if place == 'pending' then
    return redis.call('LREM', pending, -1, id) == 1 and '' or nil
  end
  local set = place == 'group' and groups .. 'waiting:' .. (group or '') or sorted[place]
  local score = redis.call('ZSCORE', set, id)
  return score and redis.call('ZREM', set, id) == 1 and score or nil
end

-- Ends its hold of the group. Returns the kind of the hold.
local function release_hold(id, group)
  local held_by, is_dead = unpack(redis.call('HMGET', groups .. 'state:' .. group, 'hold', 'hold_is_dead'))
  touch(group)
  if held_by ~= id then
    return ''
  end
  end_hold(group, id)
  return is_dead and 'dead' or 'alive'
end

-- Returns whether it owns its unique key, and until when. A key of a time is held here too until that is over.
local function release_unique(id, key)
  if not key or redis.call('HGET', unique, key) ~= id then
    return '', ''
  end
  local held_until = redis.call('ZSCORE', unique_expiries, key)
  if not held_until then
    redis.call('HDEL', unique, key)
  end
  return '1', held_until or ''
end

local function forward(id, key, fields)
  local name, request, enqueued_at = unpack(fields)
  redis.call('HSET', job .. id, 'name', name or '', 'payload', 'null', 'status', 'cancelled', 'claim_token', '', 'enqueued_at_ms',
    enqueued_at or now_text, 'cancelled_at_ms', now_text, 'last_error', 'The job moved to ' .. to .. '.', 'moved', key)
  if request then
    redis.call('HSET', job .. id, 'request', request)
  end
  local lasts = request and long_ms or short_ms
  redis.call('PEXPIRE', job .. id, lasts)
end

local function take(id)
  local status, batch, dependents, after, group, unique_key, window, kind, waits = unpack(read(job .. id, 'status', 'batch',
    'dependents', 'after', 'group', 'unique', 'window', 'error_kind', 'waits'))
  local reason = reason_to_stay(id, status, batch, dependents, after, group)
  if reason then
    return reason
  end
  local score = leave(id, group)
  if not score then
    return 'gone'
  end
  local hold = group and release_hold(id, group) or ''
  local owns, held_until = release_unique(id, unique_key or window)
  if place == 'dead' then
    redis.call('LREM', failed, 1, id)
    change_kind(id)
  else
    redis.call('ZREM', awaiting, id)
    leave_wait(id, waits)
    count('removed_total', 1)
  end
  local order = redis.call('HINCRBY', moving_state, 'order', 1)
  local key = fence .. '-' .. string.format('%d', order)
  local fields = redis.call('HMGET', job .. id, 'name', 'request', 'enqueued_at_ms')
  redis.call('RENAME', job .. id, moving_job .. id)
  redis.call('PERSIST', moving_job .. id)
  if kind then
    redis.call('HSET', moving_job .. id, 'error_kind', kind)
  end
  redis.call('HSET', moving_entries, id, table.concat({ key, place, score, owns, held_until, hold }, '\t'))
  redis.call('ZADD', moving_order, string.format('%d', order), id)
  if after then
    redis.call('HSET', moving_watch, 'j' .. id, '1')
  end
  forward(id, key, fields)
  return 'taken'
end

local replies = {}
for i = 4, #ARGV do
  replies[#replies + 1] = take(ARGV[i])
end
place_groups()
return replies
