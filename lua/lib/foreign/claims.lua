-- The claims of clients of the Redis pattern. Their clocks are not the server's, so a claim's time starts when a sweep
--   first sees it.
-- note_claims(): records the claims of the next slice of processing.
-- slice_of(list, field): returns the next slice of any list.
-- reclaim_claims(replies): reclaims expired claims. Adds what lua/sweep/reclaim returns of each. Counts in replies[2] the jobs that
--   a client reclaimed.
-- Needs: limit, visibility, lib/core/clock, lib/core/keys, lib/core/read, lib/settle/adopt_failure, lib/settle/crash.
--@include lib/settle/set_aside
local function sighting(id)
  local attempts, token = unpack(read(job .. id, 'attempts', 'claim_token'))
  return (attempts or '') .. ':' .. (token or '') .. ':' .. id
end

-- Returns the next slice of a list. A cursor in the sweep's memory moves through a list longer than the limit.
local function slice_of(list, field)
  local cursor = tonumber(redis.call('HGET', sweep, field) or 0)
  local ids = redis.call('LRANGE', list, cursor, cursor + limit - 1)
  if cursor > 0 or #ids == limit then
    redis.call('HSET', sweep, field, #ids == limit and cursor + limit or 0)
  end
  local short = {}
  for _, id in ipairs(ids) do
    if #id <= longest_id then
      short[#short + 1] = id
    else
      redis.call('LREM', list, 0, id)
      set_aside(id)
    end
  end
  return short
end

--@include lib/core/bring_back
local function note_claims()
  bring_back(foreign_claims, now, now, limit)
  local ids = slice_of(processing, 'foreign_cursor')
  for _, id in ipairs(ids) do
    redis.call('ZADD', foreign_claims, 'NX', now, sighting(id))
  end
  if #ids > 0 then
    note_foreign_client()
  end
end

-- Reclaims a client's job. The worker that the hash still names is not responsible.
local function crash_foreign(id)
  local key = job .. id
  if redis.call('EXISTS', key) == 1 then
    redis.call('HDEL', key, 'worker')
  end
  return crash(id, 'claim of a client of the Redis pattern expired')
end

-- Returns true if a client's sweep reclaimed it. Only our reclaim writes the same time into the attempt log.
local function was_swept_by_client(id)
  local reclaimed_at, log = unpack(read(job .. id, 'reclaimed_at_ms', 'attempt_log'))
  return reclaimed_at and not string.find(log or '', '"endedAt":' .. reclaimed_at .. ',', 1, true)
end

local function reclaim_claims(replies)
  for _, seen in ipairs(redis.call('ZRANGE', foreign_claims, '-inf', now - visibility, 'BYSCORE', 'LIMIT', 0, limit)) do
    local id = string.match(seen, '^[^:]*:[^:]*:(.*)$')
    if sighting(id) == seen and redis.call('LPOS', processing, id) then
      local n = #replies
      replies[n + 1], replies[n + 2], replies[n + 3] = id, crash_foreign(id)
      redis.call('LREM', processing, 1, id) -- last: if the step breaks off, the next sweep finds the job
    elseif was_swept_by_client(id) then
      replies[2] = replies[2] + 1
    end
    redis.call('ZREM', foreign_claims, seen)
  end
end
