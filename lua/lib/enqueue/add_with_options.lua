-- add_with_options(id, name, payload, options): adds one job of an enqueue in which some jobs have options. Answers nil where it
-- is new or repeated, else exists | kept | replace, the id that stands, and its name; or full | group_full, how many may wait,
-- and the group. Needs: see those that it includes; write_job; the batch's plain, added, max_pending, events and publish.
--@include lib/core/events
--@include lib/core/rank
--@include lib/enqueue/unique
--@include lib/group/place
--@include lib/group/join
--@include lib/place/remove_waiting
--@include lib/enqueue/options
--@include lib/place/place_new
--@include lib/enqueue/replace
--@include lib/batch/join
--@include lib/batch/follow

-- What stands in the way of a new job; nil where nothing does.
local function conflict(id, name, payload, options)
  if redis.call('EXISTS', job .. id) == 1 then
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
    verdict = replace(owner, id, name, payload, options)
    owner_name = verdict == 'replace' and name or owner_name
  end
  return verdict, owner, owner_name
end

-- How many more may wait; nil without a bound. What was set at run time goes before the bound of the producer.
local room
if max_pending then
  max_pending = tonumber(redis.call('HGET', settings, 'max_pending') or nil) or max_pending
  room = max_pending - redis.call('LLEN', pending) - redis.call('ZCARD', prioritized) - redis.call('ZCARD', scheduled)
    - (tonumber(redis.call('HGET', group_keys.settings, 'waiting') or nil) or 0)
end

local function fullness(options)
  if room and room <= added then
    return 'full', string.format('%d', max_pending)
  end
  local group = options and options.group
  local most = group and read_group(group).max_pending
  if most and redis.call('ZCARD', groups .. 'waiting:' .. group) >= most then
    return 'group_full', string.format('%d', most), group
  end
end

local function add_with_options(id, name, payload, options)
  local verdict, standing, standing_name = conflict(id, name, payload, options)
  if verdict then
    return verdict ~= 'repeated' and verdict or nil, standing, standing_name
  end
  local full, most, full_group = fullness(options)
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
  emit(id, 'enqueued')
end
