-- clean_history(list, field), clean_dead_letters(), clean_set(set, ...), clean_line(), clean_groups(): delete a slice
--   of the old jobs of one place. Each returns how many the next call skips, or -1 when no more are old.
-- In a history the oldest is last. An id without a hash, or in use again, only leaves the list. It is in use again also
--   if its job has ended again and is nearer to the front.
-- Needs: deleted, latest, limit, passed, place, lib/core/keys, lib/group/clean, lib/group/place, lib/group/slot,
--   lib/kind/change_kind, lib/retention/delete_dead_letter, lib/retention/delete_old.
local function clean_history(list, field)
  for _ = 1, limit do
    local id = redis.call('LINDEX', list, -1)
    local mine = id and redis.call('HGET', job .. id, 'status') == place
    local old = mine and is_old(id, field)
    if not id or mine and not old and redis.call('LPOS', list, id) == redis.call('LLEN', list) - 1 then
      return -1
    end
    redis.call('RPOP', list)
    if old then
      delete(id)
    end
  end
  return 0
end

local function clean_dead_letters()
  local old = redis.call('ZRANGE', dead, '-inf', latest, 'BYSCORE', 'LIMIT', 0, limit)
  for _, id in ipairs(old) do
    redis.call('ZREM', dead, id)
    redis.call('LREM', failed, 1, id)
    end_hold_of(id)
    change_kind(id)
    if not is_reused(id) then
      delete(id)
    end
  end
  return #old == limit and 0 or -1
end

local function clean_set(set, ...)
  local ids = redis.call('ZRANGE', set, passed, passed + limit - 1)
  for _, id in ipairs(ids) do
    if is_old(id, ...) then
      end_hold_of(id)
      redis.call('ZREM', set, id)
      delete(id)
    end
  end
  return #ids == limit and passed + #ids - deleted or -1
end

-- Cleans the line from its front, at the right. Released jobs are before older ones, so young jobs are skipped. They
-- are usually few, and removing an old id behind them is O(their number).
local function clean_line()
  local ids = redis.call('LRANGE', pending, -passed - limit, -passed - 1)
  for i = #ids, 1, -1 do
    if is_old(ids[i], 'ready_at_ms', 'enqueued_at_ms') then
      redis.call('LREM', pending, -1, ids[i])
      delete(ids[i])
    end
  end
  return #ids == limit and passed + #ids - deleted or -1
end

-- Group by group, by the age of their heads. A call skips whole groups, and jobs of the next one. A group whose head was
-- deleted may move back. Then another group is in its place, and it is read again later.
local groups_by = 4294967296 -- of what to skip, the number of groups is multiplied by this

local function clean_groups()
  local index, from = math.floor(passed / groups_by), passed % groups_by
  local name = redis.call('ZRANGE', groups .. 'heads', index, index)[1]
  if not name then
    return -1
  end
  local looked = clean_group(name, from, limit)
  place_groups()
  if redis.call('ZRANGE', groups .. 'heads', index, index)[1] ~= name then
    return index * groups_by
  end
  return looked == limit and passed + looked - deleted or (index + 1) * groups_by
end
