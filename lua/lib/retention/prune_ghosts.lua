-- prune_ghosts(): removes dead letters without a hash from dead. A purge by a client of the Redis pattern deletes the
--   jobs but leaves their ids. They would count as failed. One slice a call, from a cursor.
-- Needs: limit, more, lib/core/keys, lib/group/slot.
--@include lib/settle/set_aside
local function prune_ghosts()
  local cursor = tonumber(redis.call('HGET', sweep, 'ghost_cursor') or 0)
  local ids, gone = redis.call('ZRANGE', dead, cursor, cursor + limit - 1), {}
  for _, id in ipairs(without_long(ids, dead)) do
    if redis.call('EXISTS', job .. id) == 0 then
      gone[#gone + 1] = id
      end_hold_of(id)
    end
  end
  if #gone > 0 then
    redis.call('ZREM', dead, unpack(gone))
  end
  if cursor > 0 or #ids == limit then
    redis.call('HSET', sweep, 'ghost_cursor', #ids == limit and cursor + limit - #gone or 0)
  end
  more = #ids == limit and #gone > 0 and 1 or more
end
