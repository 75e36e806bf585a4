-- add_with_options(id, name, payload, options): adds one job of an enqueue in which some jobs have options. Returns nil
--   for a new or repeated job. Else a verdict (see lua/job/enqueue), the id of the existing job, and its name. Or the
--   reply of lib/limits/fullness.
-- Needs: added, job, max_pending, max_pending_bytes, plain, lib/core/clock, lib/core/write_job,
--   lib/enqueue/queue_settings.
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
--@include lib/limits/fullness
--@include lib/batch/join
--@include lib/batch/depend
--@include lib/batch/adder
--@include lib/batch/refusal
--@include lib/batch/follow
--@include lib/enqueue/conflict

-- Returns true if a bound may apply: of the producer, of the queue, or of the job's group.
local function may_be_bounded(options)
  return max_pending or max_pending_bytes or queue_settings()[1] or queue_settings()[2] or options and options.group
end

local function add_with_options(id, name, payload, options)
  local verdict, detail, known_name = conflict(id, name, payload, options)
  if verdict then
    return verdict ~= 'repeated' and verdict or nil, detail, known_name
  end
  configure_group_of(options)
  local full, most, full_group
  if may_be_bounded(options) then
    full, most, full_group = fullness(options, payload)
  end
  if full then
    return full, most, full_group
  end
  added = added + 1
  if options then
    write_options(job .. id, options, 'name', name, 'payload', payload, 'status', 'pending', 'enqueued_at_ms', now_text)
    own_unique(id, options)
    if options.group then
      touch(options.group)
    end
    if not (options.batch or options.after) or follow(id, options) then
      place_new(id, options)
    end
  else
    write_job(id, name, payload)
    plain[#plain + 1] = id
  end
  if may_be_bounded(options) then
    note_added(id, options, payload)
  end
  emit(id, 'enqueued')
end
