-- end_waiting(owner, id, name, payload, options): cancels the waiting owner of a unique key, and adds this newer job. If the older
--   one waits for the end of a stopped job, the newer one does. Returns as add_with_options.
-- end_older(id, field, by): cancels a job that has left its place. `field` of its hash names the newer job.
-- check_end_keys(): returns the error of a key of a wrong type, before the first write. Only the end of a job uses these keys.
-- listen_for(when): reports new jobs only if an event reports them. The ends of older jobs are reported in any case.
-- Needs: lib/core/keys, lib/core/listened, lib/enqueue/add_with_options, lib/enqueue/conflict, lib/limits/fullness,
--   lib/settle/finish, lib/unique/replace.
--@include lib/newest/wait_for
--@include lib/signal/parked
--@include lib/unique/free_window
local listened_to_ends, listened_to_adds = listened, listened

local function listen_for(when)
  listened_to_adds = when ~= 'off' and listened_to_ends
  listened = listened_to_adds
end

local function end_older(id, field, by)
  redis.call('HSET', job .. id, field, by)
  listened = listened_to_ends
  end_cancelled(id)
  listened = listened_to_adds
end

-- Returns the reply of group_fullness if the newer job finds no room in its group. In the queue, and in the group of the
-- older one, it takes the place of that.
local function fullness_beside(owner, payload, options)
  if not options.group then
    return
  end
  local full, most, group = group_fullness(options, payload)
  local shares = redis.call('HGET', job .. owner, 'group') == options.group
  if full and not (shares and full == 'group_full') then
    return full, most, group
  end
end

-- Subtracts an older job, with its bytes, from what waits. So the queue does not refuse the newer one.
local function make_room(bytes)
  local room = queue_bounds()
  if room.waiting then
    room.waiting = room.waiting - 1
    room.waiting_bytes = room.waiting_bytes and room.waiting_bytes - bytes
  end
end

local function check_end_keys()
  for _, answer in ipairs({ redis.pcall('LLEN', cancelled), redis.pcall('ZCARD', ended_ids), redis.pcall('ZCARD', kept_results),
    redis.pcall('HLEN', batch_outbox), redis.pcall('ZCARD', awaiting), redis.pcall('ZCARD', scheduled) }) do
    if type(answer) == 'table' and answer.err then
      return answer
    end
  end
end

local function end_waiting(owner, id, name, payload, options)
  configure_group_of(options)
  local full, most, group = fullness_beside(owner, payload, options)
  if full then
    return full, most, group
  end
  local before, waited = open_before(owner)
  local owner_name = redis.call('HGET', job .. owner, 'name')
  if is_bounded(options) then
    make_room(#payload)
  end
  if not leave_place(owner) then
    return 'kept', owner, owner_name -- taken by a client of the pattern that has not written its claim yet
  end
  leave_wait(owner, waited)
  free_window(owner, options.unique)
  end_older(owner, 'superseded_by', id)
  if before then
    return add_behind(before, id, name, payload, options)
  end
  return add_with_options(id, name, payload, options)
end
