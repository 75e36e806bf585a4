-- add_with_options(id, name, payload, options): adds one job of an enqueue in which some jobs have options. Returns nil
--   for a new or repeated job. Else exists | kept | replace, the id of the existing job, and its name; or the reply of
--   lib/enqueue/fullness.
-- Needs: see those that it includes; write_job; the batch's plain, added, max_pending, max_pending_bytes, events and
--   publish.
--@include lib/core/events
--@include lib/core/rank
--@include lib/enqueue/unique
--@include lib/group/place
--@include lib/group/join
--@include lib/limits/write_group
--@include lib/group/configure
--@include lib/place/remove_waiting
--@include lib/enqueue/options
--@include lib/place/place_new
--@include lib/enqueue/replace
--@include lib/enqueue/fullness
--@include lib/batch/join
--@include lib/batch/follow

-- At the first job one command also finds out whether the queue has settings. So a queue without any pays nothing for
-- bounds.
local are_settings_there = nil

local function is_known(id)
  if are_settings_there == nil then
    local found = redis.call('EXISTS', job .. id, settings)
    are_settings_there = found > 0 and (found == 2 or redis.call('EXISTS', settings) == 1)
    return found == 2 or found == 1 and not are_settings_there
  end
  return redis.call('EXISTS', job .. id) == 1
end

local function configure_group_of(options)
  if options and options.group_limits then
    configure_group(options.group, options.group_limits, options.run_at_ms or options.delay_ms and now + options.delay_ms)
  end
end

-- A job that replaces one of another group must fit into its own group. In the queue it takes the place of the former.
local function replace_waiting(owner, id, name, payload, options)
  configure_group_of(options)
  local group_before = redis.call('HGET', job .. owner, 'group')
  if options.group and group_before ~= options.group then
    local full, most, full_group = group_fullness(options.group, payload)
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

-- Returns the obstacle to a new job, or nil.
local function conflict(id, name, payload, options)
  if is_known(id) then
    local request, standing_name, batch = unpack(redis.call('HMGET', job .. id, 'request', 'name', 'batch'))
    local repeated = not (options and options.request) or request == options.request
      or options.batch ~= nil and batch == options.batch
    return repeated and 'repeated' or 'exists', id, standing_name
  elseif not (options and options.unique) then
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

-- If there are settings, as the first read finds out, they may include a bound.
local function may_be_bounded(options)
  return max_pending or max_pending_bytes or are_settings_there or options and options.group
end

local function add_with_options(id, name, payload, options)
  local verdict, standing, standing_name = conflict(id, name, payload, options)
  if verdict then
    return verdict ~= 'repeated' and verdict or nil, standing, standing_name
  end
  configure_group_of(options)
  local full, most, full_group
  if may_be_bounded(options) then
    full, most, full_group = fullness(options, payload)
  end
  if full then
    return full, most, full_group
  end
  write_job(id, name, payload)
  added = added + 1
  if options then
    write_options(job .. id, options)
    own_unique(id, options)
    if options.group then
      touch(options.group)
    end
    if not (options.batch or options.after) or follow(id, options) then
      place_new(id, options)
    end
  else
    plain[#plain + 1] = id
  end
  if may_be_bounded(options) then
    note_added(id, options, payload)
  end
  emit(id, 'enqueued')
end
