-- Puts the jobs that an enqueue with options added into their places, counts them, and wakes a worker. Not a function:
--   its script includes it as its last statements.
-- Needs: added, claimable, pending, plain, lib/group/join, lib/group/new_ranks, lib/group/place.
--@include lib/core/count
if next(touched_groups) then
  note_groups()
  place_groups()
end
return_ranks()
if #plain > 0 then
  redis.call('LPUSH', pending, unpack(plain))
  claimable = true
end
if added > 0 then
  count('enqueued_total', added == 1 and '1' or string.format('%d', added))
end
if claimable then
--@include lib/core/wake
end
