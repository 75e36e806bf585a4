-- place_new(id, options): puts a new job into scheduled until its start. Else it goes into prioritized or, with the
--   rest of the batch, into pending. With lifo it goes to the front of pending.
-- Needs: claimable, job, pending, plain, prioritized, scheduled, lib/core/clock, lib/core/rank, lib/group/join.
local function place_new(id, options)
  local due = options.run_at_ms or options.delay_ms and now + options.delay_ms
  if due and due > now then
    redis.call('HSET', job .. id, 'status', 'scheduled', 'due_at_ms', due)
    if options.lifo then
      redis.call('HSET', job .. id, 'lifo', '1')
    end
    redis.call('ZADD', scheduled, due, id)
    claimable = claimable or redis.call('ZRANGE', scheduled, 0, 0)[1] == id
  elseif options.group then
    join_group(options.group, id, next_rank(options.priority))
  elseif options.priority then
    local rank = next_rank(options.priority)
    redis.call('HSET', job .. id, 'rank', rank)
    redis.call('ZADD', prioritized, rank, id)
    claimable = true
  elseif options.lifo then
    redis.call('RPUSH', pending, id)
    claimable = true
  else
    plain[#plain + 1] = id
  end
end
