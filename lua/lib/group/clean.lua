-- clean_group(name, from, most): reads up to `most` waiting jobs of a group, behind the first `from`. Deletes the old
--   ones, and returns how many it read. A line is not sorted by age, because urgent jobs come first.
-- Needs: lib/core/keys, lib/group/place, lib/retention/delete_old.
local function clean_group(name, from, most)
  local ids = redis.call('ZRANGE', groups .. 'waiting:' .. name, from, from + most - 1)
  for _, id in ipairs(ids) do
    if is_old(id, 'ready_at_ms', 'enqueued_at_ms') then
      redis.call('ZREM', groups .. 'waiting:' .. name, id)
      delete(id)
    end
  end
  touch(name)
  return #ids
end
