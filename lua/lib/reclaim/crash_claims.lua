-- Ends the claims of `taken` as crashes, and adds id, new status and worker of each to the replies. A statement, so that
--   a script can include it as one.
-- taken: the id and the fence of each claim. reason: why its worker is gone.
-- Needs: reason, replies, taken, lib/core/keys, lib/group/place, lib/limits/freed_slot, lib/settle/crash.
do
  -- The job claimed first must be claimed first again, so it is put to the front last.
  table.sort(taken, function(a, b) return a.fence > b.fence end)
  for _, claim in ipairs(taken) do
    local n = #replies
    replies[n + 1], replies[n + 2], replies[n + 3] = claim.id, crash(claim.id, reason)
  end
  place_groups()
  -- The claims go last: if a step breaks off, a reclaim finds the jobs.
  for _, claim in ipairs(taken) do
    redis.call('ZREM', claims, claim.id)
  end
  if #taken > 0 then
    wake_for_slot()
  end
end
