-- own_history(id, cap, name): puts a job that has just completed on the history of its handler, in `histories`, whose
-- members are the name (JSON), completed_at_ms and id, and their order is their age. What is beyond the cap leaves it and the
-- queue's history, and its hash lives fallen_ttl more; not that of an id which is in use again, or has ended again.
-- LREM is O(completed_history), for jobs of such a handler alone. The cut is bounded, so a cap that was lowered takes
-- effect over several calls. Needs: job, completed, histories, fallen_ttl, now_text, read.
local function own_history(id, cap, name)
  redis.call('ZADD', histories, '0', name .. ' ' .. now_text .. ' ' .. id)
  -- JSON text ends in its quote, so that no name begins another's members; '!' follows the blank.
  local fallen = redis.call('ZRANGE', histories, '(' .. name .. '!', '[' .. name .. ' ', 'BYLEX', 'REV', 'LIMIT', cap, '100')
  for _, member in ipairs(fallen) do
    local completed_at, oldest = string.match(member, ' (%d+) (%S+)$')
    redis.call('ZREM', histories, member)
    if read(job .. oldest, 'completed_at_ms')[1] == completed_at then
      redis.call('LREM', completed, -1, oldest)
      redis.call('PEXPIRE', job .. oldest, fallen_ttl, 'XX', 'LT')
    end
  end
end
