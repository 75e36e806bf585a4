#!lua flags=allow-oom,allow-cross-slot-keys
-- Repeats the announcement of a worker to its queues, as long as they still have all of it. Else the worker must announce
-- itself again, see lua/worker/register.
-- Transition: none
-- KEYS: for each queue its workers (sorted set, score = last seen in ms), names (sorted set, score = last announcement in
--   ms) and profile (hash); with ARGV[2] also sweep (hash, the sweep's memory), worker_details, retention, handler_limits and settings (hashes).
--   With ARGV[3] then workers and worker_details of the queue whose workers are listed. In a Cluster see lib/slots/take_keys
-- ARGV[1] worker
-- ARGV[2] the layout of the keys that this worker knows; '' not to check what changes rarely
-- ARGV[3] the most live workers to list, '' for none; ARGV[4] how long ago they may have been seen, in ms
-- ARGV[5..] for each queue lines: the names of its handlers. With ARGV[2] the limits of the queue, see
--   lib/retention/announced_queue_limits, then a name of a handler, its limits, and so on
-- Returns the positions, from 1, of the queues to which the worker must announce itself; the listed workers, see lua/worker/list;
--   for each queue with an open request for a profile: its position, then id, name, kind and for_ms of the request.
-- Repeated: the same.
--@include lib/core/clock
--@include lib/worker/live_workers
local keys, worker, layout = KEYS, ARGV[1], ARGV[2]
--@cluster lib/slots/take_keys
local checks = layout ~= ''
local width = checks and 8 or 3
local reply, profiles = {}, {}

-- Returns the limits of a queue, the names of its handlers, and their limits.
local function read_lines(text)
  local limits, names, handler_limits = nil, {}, {}
  for line in string.gmatch(text, '[^\n]+') do
    if checks and not limits then
      limits = line
    elseif not checks or #names == #handler_limits then
      names[#names + 1] = line
    else
      handler_limits[#handler_limits + 1] = line
    end
  end
  return limits, names, handler_limits
end

local function renew_names(names, announced)
  local fields = {}
  for _, name in ipairs(announced) do
    fields[#fields + 1], fields[#fields + 2] = now, name
  end
  if #fields > 0 then
    redis.call('ZADD', names, unpack(fields))
  end
end

local function has_limits(handler_limits, names, limits)
  local stored = #names > 0 and redis.call('HMGET', handler_limits, unpack(names)) or {}
  for i, each in ipairs(limits) do
    if stored[i] ~= each then
      return false
    end
  end
  return true
end

-- Returns whether the limits in force are those of a worker that is gone. A registration removes or replaces them.
local function has_limits_of_gone(settings, workers)
  local owner = redis.pcall('HGET', settings, 'limits_owner') -- a broken key must not stop the renewal of other queues
  local seen = type(owner) == 'string' and redis.call('ZSCORE', workers, owner)
  return type(owner) == 'string' and not (seen and tonumber(seen) > now - tonumber(ARGV[4]))
end

for i = 5, #ARGV do
  local workers, names, profile, sweep, details, retention, handler_limits, settings = unpack(keys, (i - 5) * width + 1, (i - 4) * width)
  local limits, announced, attempts = read_lines(ARGV[i])
  -- No change means that the worker is not known, or was seen in this ms.
  local is_known = redis.call('ZADD', workers, 'XX', 'CH', now, worker) == 1 or redis.call('ZSCORE', workers, worker)
  local asked = redis.pcall('HMGET', profile, 'state', 'id', 'name', 'kind', 'for_ms') -- a broken key stops nothing
  if asked[1] == 'asked' then
    asked[1] = i - 4
    profiles[#profiles + 1] = asked
  end
  if is_known then
    renew_names(names, announced)
  end
  -- A purge lets the announcement expire, a server may lose it, and another worker may have announced other limits.
  if not is_known or checks and not (redis.call('PERSIST', workers) == 0
    and redis.call('HGET', sweep, 'layout') == layout and redis.call('PEXPIRE', details, 600000) == 1
    and redis.call('HGET', retention, '') == limits and has_limits(handler_limits, announced, attempts)
    and not has_limits_of_gone(settings, workers)) then
    reply[#reply + 1] = i - 4
  end
end
if ARGV[3] == '' then
  return { reply, {}, profiles }
end
return { reply, live_workers(keys[#keys - 1], keys[#keys], tonumber(ARGV[4]), ARGV[3]), profiles }
