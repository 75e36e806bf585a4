#!lua flags=allow-oom
-- Gives jobs back that the new place refuses: in transit -> where they came from, as the first of their line.
-- Transition: move
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] fence    of this mover
-- ARGV[2..] for each job: its id and its entry, in the order in which they would run
-- Returns the number of jobs that it gave back, or -1 if another mover has begun. A job stays in transit if a new one has its id.
-- Repeated: does nothing, because the jobs are no longer in transit.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/count
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/kind/change_kind
--@include lib/unique/owner
--@include lib/move/transit
--@include lib/move/place_moved
if is_overtaken(ARGV[1]) then
  return -1
end
local given = 0

local function is_free(id)
  local status, moved = unpack(redis.call('HMGET', job .. id, 'status', 'moved'))
  return moved or not status
end

local function give_back(id, entry)
  local _, place, score, owns, held_until, hold = entry_of(entry)
  redis.call('UNLINK', job .. id)
  redis.call('RENAME', moving_job .. id, job .. id)
  local group, key, window, kind = unpack(redis.call('HMGET', job .. id, 'group', 'unique', 'window', 'error_kind'))
  place_moved(id, place, score, true)
  if redis.call('HDEL', moving_watch, 'j' .. id) == 1 then
    redis.call('ZADD', awaiting, now_text, id)
  end
  if owns ~= '' and not resolve_unique({ unique = key or window }) then
    own_again(id, key or window, held_until)
  end
  hold_again(id, group, hold)
  if place == 'dead' then
    redis.call('HDEL', job .. id, 'error_kind')
    change_kind(id, kind)
  else
    count('enqueued_total', 1)
  end
  redis.call('HDEL', moving_entries, id)
  redis.call('ZREM', moving_order, id)
  given = given + 1
end

for i = #ARGV - 1, 2, -2 do
  if redis.call('HGET', moving_entries, ARGV[i]) == ARGV[i + 1] and is_free(ARGV[i]) then
    give_back(ARGV[i], ARGV[i + 1])
  end
end
finish_moved()
return given
