-- write_options(key, options): writes what was asked for beside the payload into a job's hash; see lua/job/enqueue.lua for
-- the options. Needs: now.
local function write_options(key, options)
  local fields = {}
  local function add_scheduled(field, value)
    if value then
      fields[#fields + 1], fields[#fields + 2] = field, value
    end
  end
  add_scheduled('priority', options.priority)
  add_scheduled('max_attempts', options.max_attempts)
  add_scheduled('max_crashes', options.max_crashes)
  add_scheduled('expires_at_ms', options.expires_in_ms and now + options.expires_in_ms)
  if type(options.unique_for) == 'string' then
    add_scheduled('unique', options.unique)
    add_scheduled('unique_for', options.unique_for)
  end
  if #fields > 0 or options.worker then
    add_scheduled('options', options.worker or '{}') -- tells claim and complete that this is no plain job
  end
  add_scheduled('request', options.request)
  add_scheduled('window', type(options.unique_for) == 'number' and options.unique)
  if #fields > 0 then
    redis.call('HSET', key, unpack(fields))
  end
end
