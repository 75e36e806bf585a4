-- write_options(key, options, fields): writes the options of an enqueue into a job's hash; see lua/job/enqueue.lua for the
--   options. Writes them behind these fields and values, in the same call.
-- Needs: lib/core/clock.
--@include lib/enqueue/leave_plain
local stored_as_asked = { group = true, priority = true, cost = true, max_attempts = true, max_crashes = true, batch = true }

local function write_options(key, options, fields)
  fields = fields or {}
  local others = #fields
  local n, kind, worker = others, options.unique_for and type(options.unique_for), options.worker
  for option, value in pairs(options) do
    if stored_as_asked[option] and value then
      fields[n + 1], fields[n + 2], n = option, value, n + 2
    end
  end
  if options.expires_in_ms then
    fields[n + 1], fields[n + 2], n = 'expires_at_ms', string.format('%d', now + options.expires_in_ms), n + 2
  end
  if kind == 'string' then
    fields[n + 1], fields[n + 2], fields[n + 3], fields[n + 4], n = 'unique', options.unique, 'unique_for', options.unique_for, n + 4
  end
  if n > others or options.after then
    -- Marks for claim and complete that the job is not plain. With a space: its only option is its group.
    local is_grouped = options.group and n == others + 2 and not options.after
    worker = (is_grouped and ' ' or '') .. unmarked(worker or '{}')
  end
  if worker then
    fields[n + 1], fields[n + 2], n = 'options', worker, n + 2
  end
  if options.request then
    fields[n + 1], fields[n + 2], n = 'request', options.request, n + 2
  end
  if kind == 'number' then
    fields[n + 1], fields[n + 2], fields[n + 3], fields[n + 4], n = 'window', options.unique, 'window_ms', string.format('%d', options.unique_for), n + 4
  end
  if n > 0 then
    redis.call('HSET', key, unpack(fields, 1, n))
  end
end
