#!lua flags=allow-oom
-- Notes that a caller waits for the result of a job. Its record is then kept for that caller, however many others end.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] for how long, in ms. A longer hold of another caller stays
-- Returns 1, or 0 if the job has ended or is unknown. Repeated: the same.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/enqueue/leave_plain
--@include lib/after/dependents
--@include lib/after/depend
local key = job .. ARGV[1]
local status, dependents, awaited_until = unpack(read(key, 'status', 'dependents', 'awaited_until_ms'))
if status ~= 'pending' and status ~= 'scheduled' and status ~= 'processing' then
  return 0
end
local holds_until = math.max(tonumber(awaited_until or nil) or 0, now + tonumber(ARGV[2]))
redis.call('HSET', key, 'awaited_until_ms', string.format('%d', holds_until))
add_dependent(ARGV[1], dependents, callers)
return 1
