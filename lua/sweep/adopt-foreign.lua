#!lua flags=allow-oom
-- The sweep's care for clients that follow the Redis pattern: takes back their dead claims from processing, and takes
-- what they failed into dead.
-- Their clocks are not the server's, so the clock of a foreign claim starts when a sweep first sees its (attempts,
-- token, id). A cursor moves through each of the two lists, one slice a run.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..9]: retention and limits, see lib/retention/retention_args
-- ARGV[10] the most claims to look at in this call; ARGV[11] the visibility timeout of foreign claims, in ms, where no
--   worker announced it; ARGV[12] the pace in ms at which failures are adopted, see lib/retention/once_per_interval
-- Returns how many dead letters were adopted, how many claims a sweep of such a client took back, 1 where such clients worked
--   here within ten minutes, then for each claim that was taken back: id, pending | failed | cancelled.
-- Repeated: looks at the next slice.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/increment
--@include lib/core/rank
--@include lib/core/events
--@include lib/settle/history
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/settle/attempt_log
--@include lib/settle/attempt_limits
--@include lib/settle/finish
--@include lib/core/name_in_payload
--@include lib/settle/crash
--@include lib/settle/adopt_failure
--@include lib/retention/once_per_interval
local limit, visibility = tonumber(ARGV[first]), announced.foreign_visibility or tonumber(ARGV[first + 1])

local function sighting(id)
  local attempts, token = unpack(read(job .. id, 'attempts', 'claim_token'))
  return (attempts or '') .. ':' .. (token or '') .. ':' .. id
end

-- The next slice of a list: a cursor in the sweep's memory moves through one that is longer than the limit.
local function slice_of(list, field)
  local cursor = tonumber(redis.call('HGET', sweep, field) or 0)
  local ids = redis.call('LRANGE', list, cursor, cursor + limit - 1)
  if cursor > 0 or #ids == limit then
    redis.call('HSET', sweep, field, #ids == limit and cursor + limit or 0)
  end
  return ids
end

local function note_claims()
  local ids = slice_of(processing, 'foreign_cursor')
  for _, id in ipairs(ids) do
    redis.call('ZADD', foreign_claims, 'NX', now, sighting(id))
  end
  if #ids > 0 then
    note_foreign_client()
  end
end

-- A worker that the hash still names is not to blame.
local function crash_foreign(id)
  local key = job .. id
  if redis.call('EXISTS', key) == 1 then
    redis.call('HDEL', key, 'worker')
  end
  return crash(id, 'claim of a client of the Redis pattern expired')
end

-- Our reclaim writes the same time into the log of attempts; that of a client of the pattern does not.
local function was_swept_by_client(id)
  local reclaimed_at, log = unpack(read(job .. id, 'reclaimed_at_ms', 'attempt_log'))
  return reclaimed_at and not string.find(log or '', '"endedAt":' .. reclaimed_at .. ',', 1, true)
end

local function take_back(answers)
  for _, seen in ipairs(redis.call('ZRANGE', foreign_claims, '-inf', now - visibility, 'BYSCORE', 'LIMIT', 0, limit)) do
    local id = string.match(seen, '^[^:]*:[^:]*:(.*)$')
    redis.call('ZREM', foreign_claims, seen)
    if sighting(id) == seen and redis.call('LREM', processing, 1, id) == 1 then
      answers[#answers + 1], answers[#answers + 2] = id, crash_foreign(id)
    elseif was_swept_by_client(id) then
      answers[2] = answers[2] + 1
    end
  end
end

local function adopt_failures()
  local adopted = 0
  for _, id in ipairs(slice_of(failed, 'failed_cursor')) do
    adopted = adopted + adopt_failure(id)
  end
  trim_dead_letters(100)
  return adopted
end

note_claims()
local answers = { 0, 0, 0 }
take_back(answers)
answers[1] = once_per_interval('adopted_at_ms', tonumber(ARGV[first + 2])) and adopt_failures() or 0
place_groups()
local seen_at = tonumber(redis.call('HGET', sweep, 'foreign_seen_at_ms') or nil)
answers[3] = seen_at and now - seen_at < 600000 and 1 or 0
return answers
