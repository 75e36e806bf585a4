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
--@include lib/audit/changes
--@include lib/audit/record

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

server.call('XLEN', stream) -- refuses a key of another type before the first write
local reply = script()
record()
return reply
