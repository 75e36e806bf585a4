-- refusal_after(status, dependents, waiting): returns why a job cannot wait for a job with these fields, or nil.
-- add_dependent(id, dependents, waiting): notes that a job waits for this one, whose end is then sent with all keys.
-- waiting: its id. For a job of another queue it is the queue, a tab and the id.
-- add_reader(id, dependents, waiting): notes that a job comes after this one, which has completed. Its record is kept for
--   that job. With too many others it is kept for a day.
-- status_of(id): returns the status of a job, also of an ended one whose id is remembered, and its dependents.
-- Needs: job, lib/core/clock, lib/enqueue/leave_plain.
--@include lib/ids/ended_as
--@include lib/kept/keep_record
local most_dependents = 1000
local day = 86400000

local function has_dependent(dependents, waiting)
  return dependents and string.find('\n' .. dependents .. '\n', '\n' .. waiting .. '\n', 1, true)
end

local function status_of(id)
  local status, dependents = unpack(redis.call('HMGET', job .. id, 'status', 'dependents'))
  return status or ended_as(id), dependents
end

local function count_of(dependents)
  return select(2, string.gsub(dependents or '', '[^\n]+', ''))
end

local function refusal_after(status, dependents, waiting)
  if not status then
    return 'unknown'
  elseif status == 'failed' or status == 'cancelled' then
    return status
  end
  return status ~= 'completed' and count_of(dependents) >= most_dependents and not has_dependent(dependents, waiting)
    and 'crowded' or nil
end

local function add_dependent(id, dependents, waiting)
  if not has_dependent(dependents, waiting) then
    redis.call('HSET', job .. id, 'dependents', (dependents and dependents .. '\n' or '') .. waiting)
  end
  leave_plain(job .. id)
end

local function add_reader(id, dependents, waiting)
  if redis.call('EXISTS', job .. id) == 0 then
    return -- only its id is remembered
  end
  if count_of(dependents) >= most_dependents then
    redis.call('HSET', job .. id, 'awaited_until_ms', string.format('%d', now + day))
  elseif not has_dependent(dependents, waiting) then
    redis.call('HSET', job .. id, 'dependents', (dependents and dependents .. '\n' or '') .. waiting)
  end
  keep_record(id)
end
