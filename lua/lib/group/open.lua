-- open_groups(most): places up to so many groups whose rate or rest lets them start now, and a slice of those that a change of the
-- settings of all groups concerns. These are looked at in the order of their heads: a head that comes to stand before the cursor is
-- placed by the script that moves it. Needs: lib/group/place.
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
    redis.call('ZADD', wake, '0', '1') -- for the next slice
  else
    redis.call('HDEL', group_keys.settings, 'review_cursor')
  end
end
