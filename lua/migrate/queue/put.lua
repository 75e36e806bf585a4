#!lua
-- Adds jobs in transit to the queue at the new place, each once: nothing -> waiting or failed. An entry is marked in the step that
--   adds its job, as in once/enqueue. See docs/internals/moving.md.
-- Transition: move
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] source   the name of the move
-- ARGV[2] fence    of this mover
-- ARGV[3] dead_letter_cap, unless workers have announced another
-- ARGV[4..] for each job: its entry, its id, the number of its fields and values, then these
-- Returns stale and the larger fence of another mover: nothing was done. Else for each job: new, known (its entry is marked),
--   existing (its id is in use here), unique (another job here has its unique key), full (as many dead letters as the cap).
--   The last three get no mark.
-- Repeated: known, and nothing changes.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/count
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/ids/ended_as
--@include lib/kind/change_kind
--@include lib/unique/owner
--@include lib/retention/announced_queue_limits
--@include lib/move/transit
--@include lib/move/place_moved
local source, fence, cap = ARGV[1], ARGV[2], announced.dead_letter_cap or tonumber(ARGV[3])
local base = string.sub(sweep, 1, -6)
local once_fences, once = base .. 'once_fences', base .. 'once:' .. source
--@include lib/once/begin_sending

-- Returns why a job cannot be added, or nil. A forwarding record of an earlier move makes place.
local function obstacle(id, place, hash, owns)
  local status, moved = unpack(read(job .. id, 'status', 'moved'))
  local key = hash.unique or hash.window
  if status and not moved or not status and hash.request and ended_as(id) then
    return 'existing'
  elseif place == 'dead' and redis.call('ZCARD', dead) >= cap then
    return 'full'
  elseif owns ~= '' and resolve_unique({ unique = key }) and redis.call('HGET', unique, key) ~= id then
    return 'unique'
  end
end

-- Raises the counter to a rank or a fence of the old place, so that later ones are larger.
local highest = tonumber(redis.call('GET', sequence) or 0)
local function note_number(number)
  highest = math.max(highest, (tonumber(number) or 0) % 2 ^ 40)
end

local function write_hash(id, from, n)
  redis.call('UNLINK', job .. id)
  for i = from, from + n - 1, 1000 do
    redis.call('HSET', job .. id, unpack(ARGV, i, math.min(i + 999, from + n - 1)))
  end
  redis.call('HDEL', job .. id, 'moved')
end

local function add(id, entry, from, n, hash)
  local _, place, score, owns, held_until, hold = entry_of(entry)
  local reason = obstacle(id, place, hash, owns)
  if reason then
    return reason
  end
  write_hash(id, from, n)
  note_number(hash.rank)
  note_number(hash.fence)
  place_moved(id, place, score)
  if owns ~= '' then
    own_again(id, hash.unique or hash.window, held_until)
  end
  hold_again(id, hash.group, hold)
  count('enqueued_total', 1)
  if place == 'dead' then
    count('failed_total', 1)
    redis.call('HDEL', job .. id, 'error_kind')
    change_kind(id, hash.error_kind)
  end
  return 'new'
end

local replies, at = {}, 4
while at <= #ARGV do
  local entry, id, n = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local hash, key = {}, string.match(entry, '^(.-)\t')
  for i = at + 3, at + 2 + n, 2 do
    hash[ARGV[i]] = ARGV[i + 1]
  end
  local reply = redis.call('ZSCORE', once, key) and 'known' or add(id, entry, at + 3, n, hash)
  if reply == 'new' then
    redis.call('ZADD', once, now_text, key)
  end
  replies[#replies + 1] = reply
  at = at + 3 + n
end
redis.call('SET', sequence, string.format('%.0f', highest))
finish_moved()
return replies
