-- fire(batch, key): enqueues the follow-ups of a batch whose members have all ended. `then` if all ended well and it was
--   not cancelled, else `on_failure`; `finally` in any case. Each has a fixed id, and waits in scheduled with a past start. So it goes
--   where its options say. The mark comes last: if the step breaks off before it, the sweep fires again. All keys are read
--   before the first write. So a key of a wrong type leaves no follow-up without a place. Returns true if a follow-up of
--   another queue waits in the outbox.
-- Needs: batch_outbox, job, scheduled, sequence, settings, wake, lib/core/clock, lib/enqueue/options.
--@include lib/core/count
--@include lib/batch/end_batch
--@include lib/batch/outbox_place

local function id_of(batch, kind)
  return '@batch:' .. batch .. ':' .. kind
end

local function check_follow_ups(batch, key, kinds)
  redis.call('HLEN', settings)
  redis.call('HLEN', batch_outbox)
  redis.call('GET', sequence)
  redis.call('ZCARD', scheduled)
  redis.call('ZCARD', wake)
  redis.call('ZCARD', key .. '/open')
  for _, kind in ipairs(kinds) do
    redis.call('HLEN', job .. id_of(batch, kind))
  end
end

-- Puts a follow-up of another queue into the outbox.
local function post_follow_up(batch, kind, elsewhere)
  redis.call('HSETNX', batch_outbox, outbox_place(batch, elsewhere), redis.call('INCR', sequence) .. '\n' .. kind .. '\n')
end

-- Enqueues a follow-up of this queue, unless the sweep has before.
local function schedule_follow_up(id, name, payload, options)
  if redis.call('EXISTS', job .. id) == 1 then
    return
  end
  local due = string.format('%d', now + (options.delay_ms or 0))
  redis.call('HSET', job .. id, 'name', name, 'payload', payload, 'status', 'scheduled', 'enqueued_at_ms', now_text,
    'due_at_ms', due)
  write_options(job .. id, options)
  if options.group then
    redis.call('HSETNX', settings, 'has_groups', '1')
  end
  redis.call('ZADD', scheduled, due, id) -- after the hash: the doctor puts a hash without a place back
  count('enqueued_total', 1)
end

-- Returns its id, or for another queue the queue, a tab and the id. nil where the batch has no such follow-up.
local function add_follow_up(batch, key, kind)
  local name, payload, options, elsewhere = unpack(redis.call('HMGET', key, kind .. '_name', kind .. '_payload',
    kind .. '_options', kind .. '_elsewhere'))
  if name and elsewhere then
    post_follow_up(batch, kind, elsewhere)
    return elsewhere
  elseif name then
    schedule_follow_up(id_of(batch, kind), name, payload, cjson.decode(options))
    return id_of(batch, kind)
  end
end

local function fire(batch, key)
  local total, completed, cancel_requested = unpack(redis.call('HMGET', key, 'total', 'completed', 'cancel_requested_at_ms'))
  local is_well = (total or '0') == (completed or '0') and not cancel_requested
  local kinds, follow_ups, is_posted = { is_well and 'then' or 'on_failure', 'finally' }, {}, false
  check_follow_ups(batch, key, kinds)
  for _, kind in ipairs(kinds) do
    follow_ups[#follow_ups + 1] = add_follow_up(batch, key, kind)
  end
  redis.call('HSET', key, 'fired_at_ms', now_text)
  for _, id in ipairs(follow_ups) do
    redis.call('ZADD', key .. '/open', 0, id)
    is_posted = is_posted or string.find(id, '\t', 1, true) ~= nil
  end
  if #follow_ups > 0 then
--@include lib/core/wake
  else
    end_batch(batch, key)
  end
  return is_posted
end
