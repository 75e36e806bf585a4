-- The bounds of waiting jobs and payload bytes in a queue and in a group.
-- fullness(options, payload): returns full | full_bytes | group_full | group_full_bytes, the bound, and the group; nil
--   if the job fits.
-- note_added(id, options, payload): counts what was added since.
-- note_later(id, options): counts a delayed job for its group.
-- group_bounds(options): returns the bounds of a job's group: waiting jobs and bytes, nil for none.
-- Bounds set at run time override those of the producer. For a group, so do its own. Those that a worker announced for all
-- groups apply where the producer has none.
-- Needs: groups, max_pending, max_pending_bytes, scheduled, settings, lib/core/clock, lib/enqueue/queue_settings,
--   lib/group/state.
--@include lib/limits/waiting_bytes
local bounds, added_jobs, added_bytes = nil, 0, 0

local function queue_bounds()
  if bounds then
    return bounds
  end
  local set_jobs, set_bytes = unpack(queue_settings())
  bounds = { jobs = tonumber(set_jobs or nil) or max_pending, bytes = tonumber(set_bytes or nil) or max_pending_bytes }
  if bounds.jobs or bounds.bytes then
    local sizes = waiting_sizes()
    bounds.waiting = sizes.pending + sizes.prioritized + sizes.scheduled + sizes.grouped
    bounds.waiting_bytes = bounds.bytes and waiting_bytes(sizes)
  end
  return bounds
end

-- Counts the scheduled jobs of a bounded group, as enqueues stored them. A job that left early, for example by a
-- cancel, is noticed when the group is full.
local function later_of(group, most)
  local later = groups .. 'later:' .. group
  redis.call('ZREMRANGEBYSCORE', later, '-inf', now)
  local count = redis.call('ZCARD', later)
  if count > 0 and redis.call('ZCARD', groups .. 'waiting:' .. group) + count >= most then
    for _, id in ipairs(redis.call('ZRANGE', later, 0, 999)) do
      if not redis.call('ZSCORE', scheduled, id) then
        count = count - redis.call('ZREM', later, id)
      end
    end
  end
  return count
end

local function group_bounds(options)
  local group = options.group
  local limits = read_group(group)
  local most, most_bytes = limits.max_pending, limits.max_pending_bytes
  if options.max_pending or options.max_pending_bytes then
    local own = has_state[group] and redis.call('HMGET', groups .. 'state:' .. group, 'max_pending', 'max_pending_bytes') or {}
    local is_set = redis.call('HEXISTS', settings, 'limits_set') == 1
    most = tonumber(own[1] or nil) or is_set and most or options.max_pending or most
    most_bytes = tonumber(own[2] or nil) or is_set and most_bytes or options.max_pending_bytes or most_bytes
  end
  return most, most_bytes
end

local function group_fullness(options, payload)
  local group = options.group
  local most, most_bytes = group_bounds(options)
  if most and redis.call('ZCARD', groups .. 'waiting:' .. group) + later_of(group, most) >= most then
    return 'group_full', string.format('%d', most), group
  elseif most_bytes and waiting_bytes_of(group) + #payload > most_bytes then
    return 'group_full_bytes', string.format('%d', most_bytes), group
  end
end

local function fullness(options, payload)
  local of_queue = queue_bounds()
  if of_queue.jobs and of_queue.waiting + added_jobs >= of_queue.jobs then
    return 'full', string.format('%d', of_queue.jobs)
  elseif of_queue.bytes and of_queue.waiting_bytes + added_bytes + #payload > of_queue.bytes then
    return 'full_bytes', string.format('%d', of_queue.bytes)
  end
  if options and options.group then
    return group_fullness(options, payload)
  end
end

-- Notes a scheduled job of a group, because it is in no line of its own.
local function note_later(id, options)
  local may_wait = options and options.group and (options.run_at_ms or options.delay_ms or options.after)
  local due = may_wait and tonumber(redis.call('ZSCORE', scheduled, id) or nil)
  if due and group_bounds(options) then
    local later, counted_until = groups .. 'later:' .. options.group, string.format('%.0f', math.min(due, now + 604800000))
    redis.call('ZADD', later, counted_until, id)
    redis.call('PEXPIREAT', later, counted_until, redis.call('PTTL', later) < 0 and 'NX' or 'GT')
  end
end

local function note_added(id, options, payload)
  added_jobs, added_bytes = added_jobs + 1, added_bytes + #payload
  note_later(id, options)
end
