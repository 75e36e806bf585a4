-- Puts claimed ids from `place` on back where they were, in their old order. Their sequence numbers are free again. It
-- is not a function, because a function would bind its outside variables: pending, prioritized, sequence, ids, ranks,
-- place.
-- Needs: ids, pending, prioritized, ranks, sequence, lib/settle/claim_ids.
local to_pending = {}
for i = #ids, place, -1 do
  local rank = ranks and ranks[ids[i]]
  if rank then
    redis.call('ZADD', prioritized, rank, ids[i])
  else
    to_pending[#to_pending + 1] = ids[i]
  end
end
if #to_pending > 0 then
  redis.call('RPUSH', pending, unpack(to_pending))
end
redis.call('INCRBY', sequence, place - #ids - 1)
