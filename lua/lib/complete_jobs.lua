-- complete_jobs(first): completes the claims that stand in ARGV from `first` on, as lua/complete.lua says; answers the
-- indexes (from 1) of those that were lost.
-- Needs: job, claims, completed, stats, unique, histories, completed_history, result_ttl, fallen_ttl, now_text, read, emit,
-- remember.
local function complete_jobs(first)
  local done, lost = {}, {}
  local owned -- the places of those whose handler has a history of its own

  for i = first, #ARGV, 6 do
    local id, token, fence, result, own_ttl = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
    local key = job .. id
    if token ~= '' and redis.pcall('HGET', key, 'claim_token') == token then
      if result == '' then
        redis.call('HSET', key, 'status', 'completed', 'claim_token', '', 'completed_at_ms', now_text)
      else
        redis.call('HSET', key, 'status', 'completed', 'claim_token', '', 'completed_at_ms', now_text, 'result', result)
      end
      redis.call('PEXPIRE', key, own_ttl == '' and result_ttl or own_ttl)
      if ARGV[i + 5] ~= '1' then
        -- What an earlier attempt or an option may have left.
        local unique_key, last_error_at = unpack(redis.call('HMGET', key, 'unique', 'last_error_at_ms'))
        if last_error_at then
          redis.call('HDEL', key, 'last_error', 'last_error_at_ms')
        end
        if unique_key and redis.call('HGET', unique, unique_key) == id then
          redis.call('HDEL', unique, unique_key)
        end
        if ARGV[i + 5] ~= '' then
          owned = owned or {}
          owned[#owned + 1] = i
        end
      end
      done[#done + 1] = id
      emit(id, 'completed')
    else
      local current, last_fence, status = unpack(read(key, 'claim_token', 'fence', 'status'))
      local done_by_this_claim = current == '' and last_fence == fence and status == 'completed'
      if not done_by_this_claim then
        lost[#lost + 1] = (i - first) / 6 + 1
      end
    end
  end
  if #done > 0 then
    redis.call('ZREM', claims, unpack(done))
    redis.call('HINCRBY', stats, 'completed_total', string.format('%d', #done))
    remember(completed, done, completed_history)
  end
  if owned then
    -- Included here, and not above, so that other jobs do not pay for what they do not use.
--@include lib/own_history
    for _, i in ipairs(owned) do
      own_history(ARGV[i], ARGV[i + 5])
    end
  end
  return lost
end
