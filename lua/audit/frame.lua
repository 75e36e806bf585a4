#!lua flags=allow-oom
-- Wraps every script that changes jobs, on a queue with an audit trail or with outcomes. The script is a function inside
-- the frame. Its `redis` records each change of a status and each deleted job. At the end each changed job gets one entry
-- of the trail, and each ended job its line. Without both options a queue runs the bare scripts.
-- src/queue/transport/audited-script.ts inserts the script and its name here.
-- Transition: none
-- KEYS: those of the script, then `audit`, `outcomes_a`, `outcomes_b`, which the frame removes before the script runs
-- ARGV: those of the script, then the most entries of the stream, or '' without a trail; the most lines, or '' without
--   outcomes; the age of a line in ms
-- Returns what the script returns. Repeated: as the script. A repeat that changes nothing writes no entry.
local outcomes_b, outcomes_a, stream = table.remove(KEYS), table.remove(KEYS), table.remove(KEYS)
local outcome_age, outcomes_cap, most = tonumber(table.remove(ARGV)), tonumber(table.remove(ARGV)), table.remove(ARGV)
local server, transition = redis, 'TRANSITION'
local prefix = string.sub(stream, 1, -#'audit' - 1) .. 'job:'
--@include lib/audit/changes
--@include lib/audit/record
--@include lib/audit/outcomes

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

-- Refuses a key of another type before the first write.
if most ~= '' then
  server.call('XLEN', stream)
end
if outcomes_cap then
  server.call('HLEN', outcomes_a)
  server.call('HLEN', outcomes_b)
end
local reply = script()
if most ~= '' then
  record()
end
if outcomes_cap then
  record_outcomes()
end
return reply
