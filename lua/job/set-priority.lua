#!lua flags=allow-oom
-- Gives a job that waits another priority: to the back of that line, as old as before. A scheduled one keeps its time.
-- Taking one id from pending is O(length of pending).
-- Transition: set-priority
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id; ARGV[2] priority, 0 for none
-- Returns updated (also where it had that priority) | refused (it does not wait) | missing. Repeated: updated, and it stays.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/place/remove_waiting
--@include lib/place/keep_age
--@include lib/enqueue/leave_plain
local id, asked = ARGV[1], ARGV[2]
local key = job .. id
local status, priority, ready_at, group = unpack(read(key, 'status', 'priority', 'ready_at_ms', 'group'))
if not status then
  return 'missing'
end
if status ~= 'pending' and status ~= 'scheduled' then
  return 'refused'
end
if (priority or '0') == asked then
  return 'updated'
end
--@include lib/place/check_lines
if status == 'pending' and not remove_waiting(id) then
  return 'refused' -- taken by a client of the pattern that has not written its claim yet
end
redis.call('HDEL', key, 'priority', 'rank', 'lifo')
if asked ~= '0' then
  redis.call('HSET', key, 'priority', asked)
  leave_plain(key)
end
if status == 'pending' then
  to_back(id, asked ~= '0' and asked, group)
  place_groups()
  keep_age(key, ready_at)
end
return 'updated'
