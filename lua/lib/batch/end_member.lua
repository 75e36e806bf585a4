-- The end of a member of a batch. A batch is the set of its open members. The end that leaves it empty and sealed fires
--   it. The field `batch` of a job is the id of its batch. Of a batch in another queue it is the queue, a tab and the
--   id. A follow-up has a tab and the id of its batch. No id has a tab or a line feed.
-- note_end(batch, member, status, detail): removes a member from the open set of a batch in this queue. A missing
--   member has ended before, so nothing happens. Returns true if a follow-up of another queue waits in the outbox.
-- end_member(id, ref, status, detail): does the same by that field. The end of a remote member goes into the outbox.
--   Returns true if something for another queue waits in the outbox.
-- open_member(id, ref): reverts the end of a dead letter, if its batch has not fired.
-- Needs: batch_outbox, batch_record, batches, remote_members, sequence, lib/core/clock.
--@include lib/batch/follow_up
local function note_end(batch, member, status, detail)
  local key = batch_record .. batch
  if redis.call('ZREM', key .. '/open', member) == 0 then
    return
  end
  local sealed, fired, fail_fast = unpack(redis.call('HMGET', key, 'sealed_at_ms', 'fired_at_ms', 'fail_fast'))
  local is_empty = redis.call('ZCARD', key .. '/open') == 0
  if fired then
    if is_empty then
      end_batch(batch, key)
    end
    return
  end
  redis.call('HSET', key .. '/outcomes', member, status .. '\n' .. detail)
  redis.call('HINCRBY', key, status, 1)
  if is_empty and sealed then
    return fire(batch, key)
  elseif fail_fast and status ~= 'completed' and redis.call('HSETNX', key, 'stopped_at_ms', now_text) == 1 then
    redis.call('ZADD', batches, '0', batch) -- the sweep cancels the others, from now on
  end
end

local function post(ref, id, state, detail)
  redis.call('HSET', batch_outbox, ref .. '\t' .. id, redis.call('INCR', sequence) .. '\n' .. state .. '\n' .. detail)
end

-- Ends a member. A dead follow-up may be redriven, and then reads the outcomes, so its batch has not ended.
local function end_member(id, ref, status, detail)
  if string.sub(ref, 1, 1) == '\t' then
    if status ~= 'failed' then
      return note_end(string.sub(ref, 2), id, status, detail)
    end
  elseif string.find(ref, '\t', 1, true) then
    redis.call('HDEL', remote_members, id)
    post(ref, id, status, detail)
    return true
  else
    return note_end(ref, id, status, detail)
  end
end

-- Opens a member again, also for a member in another queue.
local function open_again(batch, member)
  local key = batch_record .. batch
  local outcome = redis.call('HGET', key .. '/outcomes', member)
  if outcome and redis.call('HEXISTS', key, 'fired_at_ms') == 0 then
    redis.call('HDEL', key .. '/outcomes', member)
    redis.call('HINCRBY', key, string.match(outcome, '^%l+'), -1)
    redis.call('ZADD', key .. '/open', redis.call('HINCRBY', key, 'joined', 1), member)
  end
end

local function open_member(id, ref)
  local tab = string.find(ref, '\t', 1, true)
  if not tab then
    open_again(ref, id)
  elseif tab > 1 then
    redis.call('HSET', remote_members, id, ref)
    post(ref, id, 'open', '')
  end
end
