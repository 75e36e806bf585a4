-- The writes of lib/turn/take_single_slot, once for all its groups.
-- write_single_slot(names, ended, depths, emptied): takes the groups out of turns.
-- Needs: groups, lib/group/padding.
local function write_single_slot(names, ended, depths, emptied)
  redis.call('ZREM', groups .. 'turns', unpack(names))
  add_many(groups .. 'depths', 'CH', depths)
  add_many(groups .. 'ends', nil, ended)
  if emptied[1] then
    redis.call('ZREM', groups .. 'heads', unpack(emptied))
  end
end
