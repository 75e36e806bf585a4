#!lua flags=allow-oom
-- Wraps every script that changes jobs, on a queue with an audit trail. The script is a function inside the frame. Its
-- `redis` records each change of a status and each deleted job. At the end each changed job gets one entry. Without a
-- trail a queue runs the bare scripts. src/queue/transport/audited-script.ts inserts the script and its name here.
-- Transition: none
-- KEYS: those of the script, then the stream `audit`, which the frame removes before the script runs
-- ARGV: those of the script, then the most entries of the stream
-- Returns what the script returns. Repeated: as the script. A repeat that changes nothing writes no entry.
local stream, most = table.remove(KEYS), table.remove(ARGV)
local server, transition = redis, 'TRANSITION'
local prefix = string.sub(stream, 1, -#'audit' - 1) .. 'job:'
local changes, order = {}, {}

-- The first access to a job in this script reads its previous state.
local function change_of(key)
  local id = string.sub(key, #prefix + 1)
  if not changes[id] then
    local before = server.pcall('HMGET', key, 'status', 'name', 'attempts', 'worker')
    if before.err then
      before = {}
    end
    changes[id] = { from = before[1] or '', name = before[2], attempts = before[3], worker = before[4] }
    order[#order + 1] = id
  end
  return changes[id]
end

local function is_job(key)
  return type(key) == 'string' and string.sub(key, 1, #prefix) == prefix
end

local function note(command, key, ...)
  if command == 'HSET' and is_job(key) then
    for i = 1, select('#', ...), 2 do
      local field, value = select(i, ...)
      if field == 'status' then
        change_of(key).to = value
      end
    end
  elseif command == 'UNLINK' then
    for _, each in ipairs({ key, ... }) do
      if is_job(each) then
        change_of(each).to = ''
      end
    end
  end
end

-- Only the errors of this very transition: a job keeps its last one.
local function error_of(change, last_error)
  local ended = change.from == 'processing' and (transition == 'fail' or transition == 'reclaim' or transition == 'adopt-foreign')
  if not last_error or not ended and change.to ~= 'failed' then
    return ''
  end
  local last = 200
  while last > 196 and string.find(last_error, '^[\128-\191]', last + 1) do -- no half a letter
    last = last - 1
  end
  return string.sub(last_error, 1, last)
end

local function record()
  local time = order[1] and server.call('TIME')
  for _, id in ipairs(order) do
    local change = changes[id]
    if change.to and (change.to ~= '' or change.from ~= '') then
      local name, attempts, worker, last_error = unpack(server.call('HMGET', prefix .. id, 'name', 'attempts', 'worker', 'last_error'))
      server.call('XADD', stream, 'MAXLEN', '~', most, '*', 'id', id, 'name', name or change.name or '', 'transition', transition,
        'from', change.from, 'to', change.to, 'attempt', attempts or change.attempts or '0', 'worker', worker or change.worker or '',
        'error', error_of(change, last_error), 'at', time[1] .. string.sub('00000' .. time[2], -6, -4))
    end
  end
end

local redis = setmetatable({
  call = function(...)
    note(...)
    return server.call(...)
  end,
  pcall = function(...)
    note(...)
    return server.pcall(...)
  end,
}, { __index = server })

local function script()
  SCRIPT()
end

local reply = script()
record()
return reply
