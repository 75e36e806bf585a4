-- Adds plain jobs, unless a bound was set at run time. Not a function: see lua/job/enqueue.
-- One command finds out whether the first job is known, and whether the queue has settings. They may include a bound.
-- Needs: added, job, plain, settings, lib/core/write_job.
local at, found = 1, #ARGV > 0 and redis.call('EXISTS', job .. ARGV[3], settings) or 0
if found > 0 then
  found = nil
  local bounds = redis.call('HMGET', settings, 'max_pending', 'max_pending_bytes')
  if bounds[1] or bounds[2] then
    return { 'bounded' }
  end
end
while at <= #ARGV do
  local name, number, metadata = ARGV[at], tonumber(ARGV[at + 1]), nil
  local last = at + 1 + 2 * math.abs(number)
  if number < 0 then
    metadata = ARGV[last + 1]
  end
  for i = at + 2, last, 2 do
    local id = ARGV[i]
    if (found or redis.call('EXISTS', job .. id)) == 0 then
      write_job(id, name, ARGV[i + 1], metadata)
      plain[#plain + 1] = id
    end
    found = nil
  end
  at = last + (metadata and 2 or 1)
end
added = #plain
if added > 0 then
--@include lib/enqueue/line_up
end
