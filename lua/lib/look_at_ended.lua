-- look_at_ended(): a part of what has ended, for limits that came after the end: a job lives no longer than the life that
-- holds now, and one whose handler has a limit of its own is put into `histories`, however it ended. Of each state the
-- newest, and as many from where a cursor stands: what ends is seen soon, and a new limit reaches what ended long ago. A
-- cursor that is shifted by what comes and goes only finds a job later. move_cursor_back(state, count): what it had passed over
-- has left, so many.
-- Needs: keys, limit, more, read, own_retention, own_ends.
local function look_at(state, ids)
  local noted = 0
  for _, id in ipairs(ids) do
    local name, status, at, options = unpack(read(job .. id, 'name', 'status', ended_at[state], 'options'))
    if status == state then
      if state ~= 'failed' then
        redis.call('PEXPIRE', job .. id, life_of(name, options), 'XX', 'LT')
      end
      local own = retention_of(name)
      local capped = own and (own[state] or state == 'failed' and own.dead_age)
      -- As times and ids of clients of the pattern may look, a member could not be told from another's.
      if capped and string.find(at or '', '^%d+$') and #at == 13 and not string.find(id, '%s') then
        noted = noted + redis.call('ZADD', histories, '0', own_group(state, own) .. at .. ' ' .. id)
      end
    end
  end
  return noted
end

local part = math.ceil(limit / 4) -- of six looks: a call stays within a few ms

local function look_at_slices(state, slice)
  local field = 'ended_' .. state
  local cursor = tonumber(redis.call('HGET', sweep, field) or part)
  look_at(state, slice(0, part - 1))
  local older = slice(cursor, cursor + part - 1)
  local noted = look_at(state, older)
  if cursor > part or #older == part then
    redis.call('HSET', sweep, field, #older == part and cursor + part or part)
  end
  more = noted > 0 and #older == part and 1 or more -- a limit is new: the rest has not been seen either
end

local function look_at_ended()
  look_at_slices('completed', function(from, to) return redis.call('LRANGE', completed, from, to) end)
  look_at_slices('cancelled', function(from, to) return redis.call('LRANGE', cancelled, from, to) end)
  if redis.call('EXISTS', retention) == 1 then
    look_at_slices('failed', function(from, to) return redis.call('ZRANGE', dead, from, to, 'REV') end)
  end
end

local function move_cursor_back(state, count)
  local cursor = count > 0 and tonumber(redis.call('HGET', sweep, 'ended_' .. state) or nil)
  if cursor then
    redis.call('HSET', sweep, 'ended_' .. state, math.max(part, cursor - count))
  end
end
