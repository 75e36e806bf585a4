#!lua flags=allow-oom
-- Forgets jobs in transit that are at the new place: in transit -> gone. Their forwarding records stay.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] fence    of this mover
-- ARGV[2..] for each job: its id and its entry
-- Returns the number of jobs, or -1 if another mover has begun.
-- Repeated: 0.
--@include lib/core/keys
--@include lib/move/transit
if is_overtaken(ARGV[1]) then
  return -1
end
local done = 0
for i = 2, #ARGV, 2 do
  local id = ARGV[i]
  if redis.call('HGET', moving_entries, id) == ARGV[i + 1] then
    redis.call('HDEL', moving_entries, id)
    redis.call('ZREM', moving_order, id)
    redis.call('UNLINK', moving_job .. id)
    done = done + 1
  end
end
return done
