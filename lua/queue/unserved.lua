#!lua flags=no-writes,allow-oom
-- Returns which jobs wait although no live worker handles their names.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] how long ago a worker may have been seen and still counts, in ms
-- ARGV[2..] for each job: id, name
-- Returns the positions, from 1, of the jobs that wait for a worker; the number of live workers; up to ten names that
--   they handle.
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/place/announced
local since, waiting = now - tonumber(ARGV[1]), {}
local live = redis.call('ZCOUNT', workers, since, now)

for i = 2, #ARGV, 2 do
  local status = redis.pcall('HGET', job .. ARGV[i], 'status')
  if (status == 'pending' or status == 'scheduled') and (live == 0 or announced_of(ARGV[i + 1]) < since) then
    waiting[#waiting + 1] = i / 2
  end
end
local known = live > 0 and redis.call('ZRANGE', names, '+inf', since, 'BYSCORE', 'REV', 'LIMIT', 0, 10) or {}
return { waiting, live, known }
