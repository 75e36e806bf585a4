-- Completes the claims that stand in ARGV from first_completion on, as lua/complete.lua says, and leaves in `lost` the
-- positions (from 1) of those that were lost. No function, for the reason given in claim_jobs.
-- Needs: job, claims, completed, stats, unique, completed_history, result_ttl, fallen_ttl, now, now_text, read, emit,
-- remember, first_completion.
local done, lost, position = {}, {}, 0
local kept_until = string.format('%d', now + result_ttl)

local at = first_completion
while at <= #ARGV do
  local token, last = ARGV[at], at + 1 + 4 * tonumber(ARGV[at + 1])
  for i = at + 2, last, 4 do
    local id, fence, result, ending = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
    local key = job .. id
    position = position + 1
    if token ~= '' and redis.pcall('HGET', key, 'claim_token') == token then
      local asked = ending ~= '1' and ending ~= '' and cjson.decode(ending)
      if result == '' then
        redis.call('HSET', key, 'status', 'completed', 'claim_token', '', 'completed_at_ms', now_text)
      else
        redis.call('HSET', key, 'status', 'completed', 'claim_token', '', 'completed_at_ms', now_text, 'result', result)
      end
      if ending ~= '1' and not (asked and asked.plain) then
        -- What an earlier attempt or an option may have left.
        local unique_key, last_error_at = unpack(redis.call('HMGET', key, 'unique', 'last_error_at_ms'))
        if last_error_at then
          redis.call('HDEL', key, 'last_error', 'last_error_at_ms')
        end
        if unique_key and redis.call('HGET', unique, unique_key) == id then
          redis.call('HDEL', unique, unique_key)
        end
      end
      done[#done + 1] = id
      emit(id, 'completed')
      -- Last, since a moment that is over by now deletes the hash at once.
      local own_ttl = asked and asked.result_ttl_ms
      redis.call('PEXPIREAT', key, own_ttl and string.format('%d', now + own_ttl) or kept_until)
    else
      local current, last_fence, status = unpack(read(key, 'claim_token', 'fence', 'status'))
      local done_by_this_claim = current == '' and last_fence == fence and status == 'completed'
      if not done_by_this_claim then
        lost[#lost + 1] = position
      end
    end
  end
  at = last + 1
end
if #done > 0 then
  redis.call('ZREM', claims, unpack(done))
  redis.call('HINCRBY', stats, 'completed_total', string.format('%d', #done))
  remember(completed, done, completed_history)
end
