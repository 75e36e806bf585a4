-- may_take(id): returns whether the claimer takes this job. It handles the name, or no live worker announced the name
--   for max_age. Then overdue[id] says why the job must not run. A foreign producer's job has its name in its payload.
--   The name is written once it is found, so the payload is read once. Without a name the claimer takes the job. Such a
--   job also waits while clients of the Redis pattern claim jobs here, because they announce nothing.
-- Needs: job, names, overdue, sweep, workers, lib/core/clock, lib/core/read, lib/place/take_named.
--@include lib/place/announced
local announced_at, young, elsewhere, unserved = {}, {}, false, {}

local function is_served(name)
  return served[name] or served['*'] and serves_any(name)
end

local function reason_of(name, waited, times)
  return 'unhandled ' .. cjson.encode({ name = name, waited_ms = string.format('%.0f', waited), times = times or '0',
    workers = redis.call('ZCOUNT', workers, now - seen_ms, '+inf'),
    known = redis.call('ZRANGE', names, '+inf', now - seen_ms, 'BYSCORE', 'REV', 'LIMIT', 0, 10) })
end

local function found_name(key)
  -- Included here, because few jobs have their name only there.
--@include lib/foreign/name_in_payload
--@include lib/foreign/note_name
  local name = name_in_payload(key)
  if name and not is_served(name) then
    note_name(key, name)
    redis.call('HSET', key, 'unhandled_at_ms', now_text)
  end
  return name
end

-- Returns true if a job waited too long. The front holds the oldest jobs. If the first of a name is not overdue, those
-- after it are not checked.
local function is_overdue(id, name)
  if max_age == 0 or young[name] or now - announced_at[name] <= max_age then
    return false
  end
  local ready_at, enqueued_at, unhandled_at, times, foreign = unpack(read(job .. id, 'ready_at_ms', 'enqueued_at_ms',
    'unhandled_at_ms', 'unhandled', 'foreign'))
  local waited = now - math.max(announced_at[name], tonumber(unhandled_at or ready_at or enqueued_at) or now)
  if waited <= max_age then
    young[name] = true
    return false
  end
  local foreign_seen_at = foreign and tonumber(redis.call('HGET', sweep, 'foreign_seen_at_ms') or nil)
  if foreign_seen_at and math.abs(now - foreign_seen_at) <= max_age then
    return false
  end
  overdue[id] = reason_of(name, waited, times)
  return true
end

local function may_take(id)
  local key = job .. id
  local name = redis.pcall('HGET', key, 'name')
  if type(name) ~= 'string' then
    name = found_name(key)
  end
  if not name or is_served(name) then
    return true
  end
  announced_at[name] = announced_at[name] or announced_of(name)
  if announced_at[name] > now - seen_ms then
    elsewhere = true
    return false
  end
  unserved[name] = true
  return is_overdue(id, name)
end
