#!lua flags=allow-oom
-- Deletes a slice of all jobs of the queue, in every state; with the last slice also every other key but the counters.
-- KEYS: the standard keys, see lib/keys
-- ARGV[1] the most jobs to delete in this call
-- Returns how many were deleted; less than the limit means done. Repeated: the next slice.
--@include lib/keys
local limit = tonumber(ARGV[1])
local deleted = 0

local function delete(ids, step)
  for i = 1, #ids, step do
    redis.call('UNLINK', job .. ids[i])
    deleted = deleted + 1
  end
end

for _, list in ipairs({ pending, processing, completed, failed, cancelled }) do
  if deleted < limit then
    delete(redis.call('RPOP', list, limit - deleted) or {}, 1)
  end
end
for _, set in ipairs({ prioritized, scheduled, claims, dead }) do
  if deleted < limit then
    delete(redis.call('ZPOPMIN', set, limit - deleted), 2)
  end
end
if deleted < limit then
  redis.call('UNLINK', unique, windows, wake, sweep, foreign)
end
return deleted
