#!lua flags=allow-oom
-- Takes the ends of jobs in other queues from their outboxes. They are members of a batch here, or jobs here wait for them.
-- Each end of a member has a number from its queue. A number that does not exceed the same job's last one changes
-- nothing. So an end may be delivered twice or late.
-- Transition: deliver
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each: batch, member (queue, tab, id), number, state, result
--   batch: or a line feed and the id of the job here that waits for the other
--   number: 0 for an end that no report has, which lua/batch/ends found; it counts if the member is open
--   state: completed, failed, cancelled, removed, or open after a redrive
--   result: JSON, or the reason of a failure
-- Returns how many changed something; then 1 if a batch of these has fired and the outbox here has something, else 0. The
--   caller then sends its follow-ups. Other entries of the outbox are left to this queue. Repeated: 0, and the same while
--   the outbox has something.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/enqueue/options
--@include lib/batch/end_member
--@include lib/batch/join
--@include lib/after/dependents
local changed, is_posted = 0, false
local early_ms = 600000 -- longer than an enqueue may take

-- Ends the wait of a job here. One that supersedes the other starts however that ended. An end that comes before the
-- enqueue of the waiting job is kept for it.
local function take_for_waiting(id, before, number, state)
  if redis.call('EXISTS', job .. id) == 1 then
    update_dependent(id, before, redis.call('HEXISTS', job .. id, 'supersedes') == 1 and 'completed' or state)
  elseif number > 0 then
    local early = batch_record .. id .. '/early'
    changed = changed + redis.call('HSETNX', early, before, state)
    redis.call('PEXPIRE', early, early_ms)
  end
end

local function take(batch, member, number, state, detail)
  local key = batch_record .. batch
  local created, sealed, fired = unpack(redis.call('HMGET', key, 'created_at_ms', 'sealed_at_ms', 'fired_at_ms'))
  if not created then
    return
  elseif fired then
    -- Only follow-ups are open. A dead one may be redriven, so it has not ended.
    if not redis.call('ZSCORE', key .. '/open', member) then
      is_posted = true -- a repeat, whose first call may have fired the batch
    elseif state ~= 'failed' and state ~= 'open' then
      changed = changed + 1
      note_end(batch, member, state, detail)
    end
    return
  elseif number == 0 then
    if redis.call('ZSCORE', key .. '/open', member) then
      changed = changed + 1
      is_posted = note_end(batch, member, state, detail) or is_posted
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
  open_again(batch, member) -- a later end replaces the report of a redrive in the outbox
  if state ~= 'open' then
    is_posted = note_end(batch, member, state, detail) or is_posted
  end
end

for i = 1, #ARGV, 5 do
  local waiting = string.match(ARGV[i], '^\n(.+)$')
  if waiting then
    take_for_waiting(waiting, ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3])
  else
    take(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3], ARGV[i + 4])
  end
end
return { changed, is_posted and redis.call('HLEN', batch_outbox) > 0 and 1 or 0 }
