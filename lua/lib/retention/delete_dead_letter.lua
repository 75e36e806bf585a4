-- is_reused(id): returns whether the id of a dead letter belongs to a job in another state. The hash was deleted by hand, and
--   the id enqueued again, before the id left dead.
-- delete_dead_letter(id): deletes a job that has left dead, and returns how many it deleted. It spares a reused id.
-- Needs: lib/core/keys, lib/group/slot.
--@include lib/ids/mark_of
--@include lib/kind/change_kind
local function is_reused(id)
  local status = redis.pcall('HGET', job .. id, 'status')
  return type(status) == 'string' and status ~= 'failed'
end

local function delete_dead_letter(id)
  end_hold_of(id)
  change_kind(id)
  if is_reused(id) then
    return 0
  end
  redis.call('ZREM', ended_ids, mark_of(id)) -- of an earlier end, before it ran again
  return redis.call('UNLINK', job .. id)
end
