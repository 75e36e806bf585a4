-- add_with_options(id, name, payload, options): adds one job of an enqueue in which some jobs have options. Returns nil
--   for a new or repeated job. Else a verdict (see lua/job/enqueue), the id of the existing job, and its name. Or the
--   reply of lib/limits/fullness.
-- Needs: added, job, max_pending, max_pending_bytes, plain, lib/core/clock, lib/core/write_job,
--   lib/enqueue/queue_settings.
--@include lib/core/events
--@include lib/group/new_ranks
--@include lib/unique/owner
--@include lib/group/place
--@include lib/group/join
--@include lib/limits/write_group
--@include lib/group/configure
--@include lib/place/remove_waiting
--@include lib/enqueue/options
--@include lib/place/place_new
--@include lib/unique/replace
--@include lib/limits/fullness
--@include lib/batch/join
--@include lib/after/depend
--@include lib/batch/adder
--@include lib/batch/refusal
--@include lib/batch/follow
--@include lib/enqueue/known_ids
--@include lib/enqueue/conflict

-- Returns whether a bound applies: of the producer, of the queue, or of the job's group.
local function is_bounded(options)
  if max_pending or max_pending_bytes or queue_settings()[1] or queue_settings()[2] then
    return true
  end
  if options and options.group then
    local most, most_bytes = group_bounds(options)
    return most or most_bytes
  end
end

local function add_with_options(id, name, payload, options)
  local verdict, detail, known_name = conflict(id, name, payload, options)
  if verdict then
    return verdict ~= 'repeated' and verdict or nil, detail, known_name
  end
  configure_group_of(options)
  local bounded = is_bounded(options)
  if bounded then
    local full, most, full_group = fullness(options, payload)
    if full then
      return full, most, full_group
    end
  end
  added, written[id] = added + 1, true
  if options then
    local follows = options.batch or options.after
    local rank = not follows and rank_at_once(options)
    -- The nils reserve room for the options, because a growing table costs as much again.
    local fields = { 'name', name, 'payload', payload, 'status', 'pending', 'enqueued_at_ms', now_text, nil, nil, nil, nil, nil, nil }
    if rank then
      fields[9], fields[10] = 'rank', rank
    end
    write_options(job .. id, options, fields)
    if options.unique then
      own_unique(id, options)
    end
    if not follows or follow(id, options) then
      place_new(id, options, rank)
    end
    if options.group and not touched_groups[options.group] then
      touch(options.group)
    end
  else
    write_job(id, name, payload)
    plain[#plain + 1] = id
  end
  if bounded then
    note_added(id, options, payload)
  end
  emit(id, 'enqueued')
end
