-- index_finished(): a part of what has ended, for limits that came after the end: a job lives no longer than the life that
-- holds now, and one whose handler has a limit of its own is put into `histories`, however it ended. Of each state what has
-- ended since the last look, the newest first and on and on; and a part from where a cursor stands, so that a new limit
-- reaches what ended long ago. A cursor that is shifted by what comes only looks twice. move_cursors_back(state, count): what
-- they may have passed over has left, so many.
-- Needs: keys, limit, more, now, read, own_retention, own_ends.
local part = math.ceil(limit / 4) -- of six looks: a call stays within a few ms

-- Answers how many it changed something for, and when the newest of them all ended.
local function index_one(state, ids)
  local changed, newest = 0, 0
  for _, id in ipairs(ids) do
    local name, status, at, options = unpack(read(job .. id, 'name', 'status', ended_at[state], 'options'))
    if status == state then
      if state ~= 'failed' then
        changed = changed + redis.call('PEXPIRE', job .. id, lifetime_of(state, name, options), 'XX', 'LT')
      end
      -- As times and ids of clients of the pattern may look, a member could not be told from another's.
      local plain = string.find(at or '', '^%d+$') and #at == 13 and not string.find(id, '%s')
      newest = plain and math.max(newest, tonumber(at)) or newest
      local own = retention_of(name)
      if plain and own and (own[state] or state == 'failed' and own.dead_age) then
        changed = changed + redis.call('ZADD', histories, '0', handler_group(state, own) .. at .. ' ' .. id)
      end
    end
  end
  return changed, newest
end

-- A walk that is under way has a place and its beginning; one that is over leaves the beginning, up to which all was seen.
local function index_newest(state, slice)
  local place, beginning, seen = 'front_' .. state, 'front_began_' .. state, 'seen_' .. state
  local from, began, seen_at = unpack(redis.call('HMGET', sweep, place, beginning, seen))
  from = tonumber(from or 0)
  began = from > 0 and began or now
  local ids = slice(from, from + part - 1)
  local _, newest = index_one(state, ids)
  if #ids == part and newest >= tonumber(seen_at or 1) then
    redis.call('HSET', sweep, place, from + part, beginning, began)
    more = 1
  elseif from > 0 or #ids == part then
    redis.call('HSET', sweep, seen, began)
    redis.call('HDEL', sweep, place, beginning)
  end
end

local function index_older(state, slice)
  local field = 'ended_' .. state
  local cursor = tonumber(redis.call('HGET', sweep, field) or part)
  local ids = slice(cursor, cursor + part - 1)
  local changed = index_one(state, ids)
  if cursor > part or #ids == part then
    redis.call('HSET', sweep, field, #ids == part and cursor + part or part)
  end
  more = changed > 0 and #ids == part and 1 or more -- a limit is new: the rest has not been seen either
end

local function index_finished()
  local owned = #redis.call('HRANDFIELD', retention, 2) > redis.call('HEXISTS', retention, '') -- a handler has limits
  local ended = {
    completed = function(from, to) return redis.call('LRANGE', completed, from, to) end,
    cancelled = function(from, to) return redis.call('LRANGE', cancelled, from, to) end,
    failed = owned and function(from, to) return redis.call('ZRANGE', dead, from, to, 'REV') end or nil,
  }
  for state, slice in pairs(ended) do
    if owned then
      index_newest(state, slice)
    else
      index_one(state, slice(0, part - 1))
    end
    index_older(state, slice)
  end
end

local function move_cursors_back(state, count)
  for field, least in pairs({ ['ended_' .. state] = part, ['front_' .. state] = 0 }) do
    local cursor = count > 0 and tonumber(redis.call('HGET', sweep, field) or nil)
    if cursor then
      redis.call('HSET', sweep, field, math.max(least, cursor - count))
    end
  end
end
