-- The writes of lib/turn/take_single_slot, once for all its groups.
-- write_single_slot(names, ended, depths, emptied, n): takes the groups out of turns.
-- Needs: groups, lib/group/padding.

-- Writes many groups with a long member first. It turns a small set into a tree, or a small hash into a table.
local function write_single_slot(names, ended, depths, emptied, n)
  redis.call('ZREM', groups .. 'turns', unpack(names))
  if n >= 8 then
    redis.call('ZADD', groups .. 'depths', '0', padding, unpack(depths))
    redis.call('ZREM', groups .. 'depths', padding)
    redis.call('HSET', groups .. 'ends', padding, '', unpack(ended))
    redis.call('HDEL', groups .. 'ends', padding)
  else
    redis.call('ZADD', groups .. 'depths', unpack(depths))
    redis.call('HSET', groups .. 'ends', unpack(ended))
  end
  if emptied[1] then
    redis.call('ZREM', groups .. 'heads', unpack(emptied))
  end
end
