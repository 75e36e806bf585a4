#!lua
-- Notes that jobs of another queue will wait for jobs here. Their enqueue there comes next.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the queue of the waiting jobs
-- ARGV, then for each: the id of a job here, the id of the job that waits for it
-- Returns, for each: open (its end is reported to that queue) | completed | unknown | failed | cancelled | crowded.
-- Repeated: the same for a job that has not ended since.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/enqueue/leave_plain
--@include lib/after/depend
local home, reply = ARGV[1], {}
for i = 2, #ARGV, 2 do
  redis.call('HLEN', job .. ARGV[i]) -- a hash of a wrong type ends the step before the first write
end
for i = 2, #ARGV, 2 do
  local id, waiting = ARGV[i], home .. '\t' .. ARGV[i + 1]
  local status, dependents = status_of(id)
  local refusal = refusal_after(status, dependents, waiting)
  if not refusal then
    local add = status == 'completed' and add_reader or add_dependent
    add(id, dependents, waiting)
  end
  reply[#reply + 1] = refusal or status == 'completed' and 'completed' or 'open'
end
return reply
