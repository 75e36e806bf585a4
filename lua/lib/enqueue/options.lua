-- write_options(key, options, ...): writes the options of an enqueue into a job's hash; see lua/job/enqueue.lua for the
--   options. Writes the further fields and values in the same call.
-- Needs: lib/core/clock.
--@include lib/enqueue/leave_plain
local function write_options(key, options, ...)
  local fields, others = { ... }, select('#', ...)
  local function add(field, value)
    if value then
      fields[#fields + 1], fields[#fields + 2] = field, value
    end
  end
  add('priority', options.priority)
  add('cost', options.cost)
  add('group', options.group)
  add('max_attempts', options.max_attempts)
  add('max_crashes', options.max_crashes)
  add('expires_at_ms', options.expires_in_ms and now + options.expires_in_ms)
  if type(options.unique_for) == 'string' then
    add('unique', options.unique)
    add('unique_for', options.unique_for)
  end
  add('batch', options.batch)
  if #fields > others or options.after then
    -- Marks for claim and complete that the job is not plain. With a space: its only option is its group.
    local is_grouped = options.group and #fields == others + 2 and not options.after
    add('options', (is_grouped and ' ' or '') .. unmarked(options.worker or '{}'))
  else
    add('options', options.worker)
  end
  add('request', options.request)
  if type(options.unique_for) == 'number' then
    add('window', options.unique)
    add('window_ms', options.unique_for)
  end
  if #fields > 0 then
    redis.call('HSET', key, unpack(fields))
  end
end
