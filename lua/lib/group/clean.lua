-- clean_group(name, most): deletes the old among the first `most` waiting jobs of a group, and returns how many it
--   read.
-- Needs: groups, lib/group/place, lib/retention/delete_old.
local function clean_group(name, most)
  local ids = redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, most - 1)
  for _, id in ipairs(ids) do
    if is_old(id, 'ready_at_ms', 'enqueued_at_ms') then
      redis.call('ZREM', groups .. 'waiting:' .. name, id)
      delete(id)
    end
  end
  touch(name)
  return #ids
end
