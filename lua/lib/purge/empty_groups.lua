-- empty_groups(): empties the waiting jobs of the first hundred groups. Settings, pauses and rests of groups stay, and what
--   their rates have spent, as those of the queue do.
-- end_stray_holds(): ends holds of jobs that were in no place.
-- Needs: limit, looked, lib/core/keys, lib/group/place, lib/group/slot, lib/group/state, lib/purge/empty_places.
local function empty_groups()
  for _, group in ipairs(redis.call('ZRANGE', group_keys.depths, 0, 99)) do
    empty_set(groups .. 'waiting:' .. group)
    if looked < limit then
      redis.call('UNLINK', groups .. 'running:' .. group) -- claims is empty, so no job has these slots
    end
    touch(group)
  end
  place_groups(true)
  if looked < limit and redis.call('EXISTS', group_keys.depths) == 0 then
    redis.call('UNLINK', group_keys.turns, group_keys.ends, group_keys.finishes, group_keys.heads)
    redis.call('HDEL', group_keys.settings, 'waiting', 'virtual_time', 'review_cursor')
  end
end

local function end_stray_holds()
  if has_groups and looked < limit then
    for _, id in ipairs(redis.call('HRANDFIELD', groups .. 'holds', limit)) do
      end_hold_of(id)
    end
  end
end
