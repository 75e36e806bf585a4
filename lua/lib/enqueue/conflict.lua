-- conflict(id, name, payload, options): returns the obstacle to a new job, or nil. With options.unique it may replace the
--   job that has the key.
-- configure_group_of(options): stores the limits that the job brings for its group.
-- Needs: batch_record, groups, job, prioritized, scheduled, lib/batch/join, lib/core/clock, lib/enqueue/known_ids,
--   lib/group/configure, lib/limits/fullness, lib/unique/owner, lib/unique/replace.
--@include lib/ids/ended_as
local are_sorted_there = nil -- as this call found them: the ids that it adds itself are known
local ended_id = { completed = 'exists_completed', failed = 'exists_failed', cancelled = 'exists_cancelled' }

local function configure_group_of(options)
  if options and options.group_limits then
    configure_group(options.group, options.group_limits, options.run_at_ms or options.delay_ms and now + options.delay_ms)
  end
end

-- Replaces the owner. In another group, the new job must fit into it. In the queue it takes the owner's place.
local function replace_waiting(owner, id, name, payload, options)
  configure_group_of(options)
  local group_before = redis.call('HGET', job .. owner, 'group')
  if options.group and group_before ~= options.group then
    local full, most, full_group = group_fullness(options, payload)
    if full then
      return full, most, full_group
    end
  end
  local verdict = replace(owner, id, name, payload, options)
  if verdict == 'replace' then
    if group_before then
      redis.call('ZREM', groups .. 'later:' .. group_before, owner)
    end
    note_later(owner, options)
  end
  return verdict, owner, verdict == 'replace' and name or redis.call('HGET', job .. owner, 'name')
end

-- Removes the id from the sorted places where a job of this id may have left it. Its hash is gone, deleted by hand. Only an id
-- that its caller chose is used again. One left in pending is dropped by its claim, because a search there is unbounded.
local function leave_old_places(id)
  if are_sorted_there == nil then
    are_sorted_there = redis.call('EXISTS', prioritized, scheduled) > 0
  end
  if are_sorted_there then
    redis.call('ZREM', prioritized, id)
    redis.call('ZREM', scheduled, id)
  end
end

-- Returns whether a batch has had a member with this id of the caller's. Its hash may be gone. The caller asks a batch in
-- another queue.
local function was_member(id, options)
  if options.was_member then
    return true
  end
  local batch = options.request and options.batch
  return batch and not string.find(batch, '\t', 1, true) and is_member(batch_record .. batch, id)
end

-- Returns the obstacle to a new job, or nil.
local function conflict(id, name, payload, options)
  if is_known(id) then
    local request, known_name, status = unpack(redis.call('HMGET', job .. id, 'request', 'name', 'status'))
    local repeated = not (options and options.request) or request == options.request
    return repeated and 'repeated' or ended_id[status] or 'exists', id, known_name
  end
  if not options then
    return nil
  elseif was_member(id, options) then
    return 'exists', id
  end
  -- The record of an ended job may be gone before its time. Its id is known until then.
  local ended = options.request and not written[id] and ended_as(id)
  if ended then
    return ended_id[ended], id
  end
  if options.request then
    leave_old_places(id)
  end
  if not options.unique then
    return nil
  end
  local before = options.unique_replace and replaced_before(id, options)
  if before then
    return 'replace', before, redis.call('HGET', job .. before, 'name')
  end
  local verdict, owner, owner_name = resolve_unique(options)
  if verdict == 'replace' then
    return replace_waiting(owner, id, name, payload, options)
  end
  return verdict, owner, owner_name
end
