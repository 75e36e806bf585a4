-- open_groups(most): places up to this many groups whose rate or rest lets them start now. Also places a slice of the
--   groups affected by changed settings of all groups. The slice follows their heads. If a head moves before the
--   cursor, the script that moved it places the group.
-- Needs: lib/core/clock, lib/group/gate, lib/group/place, lib/group/state.
local function open_groups(most)
  for _, name in ipairs(redis.call('ZRANGE', group_keys.gated, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
    touch(name)
  end
  forget_rested(most)
  local cursor = redis.call('HGET', group_keys.settings, 'review_cursor')
  if not cursor then
    return
  end
  local slice = redis.call('ZRANGE', group_keys.heads, '(' .. cursor, '+inf', 'BYSCORE', 'LIMIT', 0, 100, 'WITHSCORES')
  for i = 1, #slice, 2 do
    touch(slice[i])
  end
  if #slice == 200 then
    redis.call('HSET', group_keys.settings, 'review_cursor', slice[200])
    -- For the next slice.
--@include lib/core/wake
  else
    redis.call('HDEL', group_keys.settings, 'review_cursor')
  end
end
