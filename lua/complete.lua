#!lua flags=allow-oom
-- Ends claims well: processing -> completed. The hot half of settle; fail and release are the others.
-- KEYS[1] job        prefix of the job hashes
-- KEYS[2] claims     sorted set
-- KEYS[3] completed  list
-- KEYS[4] stats      hash
-- KEYS[5] unique     hash
-- KEYS[6] events     channel
-- ARGV[1] completed_history in ids; ARGV[2] fallen_ttl in ms; ARGV[3] publish (listened, always, off)
-- ARGV[4] result_ttl in ms
-- ARGV[5..] for each job: id, token, fence, result (JSON, or '' for none), own result_ttl in ms ('' for ARGV[4]), plain
--   ('1' for a first attempt without options: it holds no unique key and left no error)
-- Returns the indexes (from 1) of the claims that were lost: not current, and not completed by this very claim.
-- Repeated: the token is empty and the fence equal, so it counts as done and changes nothing.
local job, claims, completed, stats, unique, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local completed_history, fallen_ttl, publish, result_ttl = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
--@include lib/clock
--@include lib/events
--@include lib/history
local done, lost = {}, {}

for i = 5, #ARGV, 6 do
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
    end
    done[#done + 1] = id
    emit(id, 'completed')
  else
--@include lib/read
    local current, last_fence, status = unpack(read(key, 'claim_token', 'fence', 'status'))
    local done_by_this_claim = current == '' and last_fence == fence and status == 'completed'
    if not done_by_this_claim then
      lost[#lost + 1] = (i + 1) / 6
    end
  end
end
if #done > 0 then
  redis.call('ZREM', claims, unpack(done))
  redis.call('HINCRBY', stats, 'completed_total', #done)
  remember(completed, done, completed_history)
end
return lost
