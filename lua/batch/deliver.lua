#!lua flags=allow-oom
-- Takes the ends of members in other queues from their outboxes. Each end has a number from its queue. A number that
-- does not exceed the same job's last one changes nothing. So an end may be delivered twice or late.
-- Transition: deliver
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each: batch, member (queue, tab, id), number, state, result
--   number: 0 for an end that no report has, which lua/batch/ends found; it counts if the member is open
--   state: completed, failed, cancelled, removed, or open after a redrive
--   result: JSON, or the reason of a failure
-- Returns how many changed the batch. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/enqueue/options
--@include lib/batch/end_member
--@include lib/batch/join
local changed = 0

local function take(batch, member, number, state, detail)
  local key = batch_record .. batch
  local created, sealed, fired = unpack(redis.call('HMGET', key, 'created_at_ms', 'sealed_at_ms', 'fired_at_ms'))
  if not created or fired then
    return
  elseif number == 0 then
    if redis.call('ZSCORE', key .. '/open', member) then
      changed = changed + 1
      note_end(batch, member, state, detail)
    end
    return
  elseif tonumber(redis.call('HGET', key .. '/seen', member) or 0) >= number then
    return
  end
  -- A member is enqueued before it joins, so its end may come first.
  if not is_member(key, member) then
    if sealed then
      return
    end
    join(batch, member)
  end
  redis.call('HSET', key .. '/seen', member, string.format('%.0f', number))
  changed = changed + 1
  if state == 'open' then
    open_again(batch, member)
  else
    note_end(batch, member, state, detail)
  end
end

for i = 1, #ARGV, 5 do
  take(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3], ARGV[i + 4])
end
return changed
