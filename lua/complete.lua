#!lua flags=allow-oom
-- Ends claims well: processing -> completed. The hot half of settle; fail and release are the others.
-- KEYS[1] job        prefix of the job hashes
-- KEYS[2] claims     sorted set
-- KEYS[3] completed  list
-- KEYS[4] stats      hash
-- KEYS[5] unique     hash
-- KEYS[6] events     channel
-- ARGV[1] completed_history in ids; ARGV[2] fallen_ttl in ms; ARGV[3] publish (listened, always, off)
-- ARGV[4..] for each job: id, token, fence, result (JSON, or '' for none), result_ttl in ms
-- Returns the indexes (from 1) of the claims that were lost: not current, and not completed by this very claim.
-- Repeated: the token is empty and the fence equal, so it counts as done and changes nothing.
local job, claims, completed, stats, unique, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local completed_history, fallen_ttl, publish = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
--@include lib/clock
--@include lib/events
--@include lib/history
local done, lost = {}, {}

for i = 4, #ARGV, 5 do
  local id, token, fence, result = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local key = job .. id
  local hash = redis.call('HMGET', key, 'claim_token', 'fence', 'status', 'unique', 'last_error_at_ms')
  if hash[1] == token and hash[3] == 'processing' then
    if result == '' then
      redis.call('HSET', key, 'status', 'completed', 'completed_at_ms', now, 'claim_token', '')
    else
      redis.call('HSET', key, 'status', 'completed', 'completed_at_ms', now, 'claim_token', '', 'result', result)
    end
    redis.call('PEXPIRE', key, ARGV[i + 4])
    if hash[5] then
      redis.call('HDEL', key, 'last_error', 'last_error_at_ms')
    end
    if hash[4] and redis.call('HGET', unique, hash[4]) == id then
      redis.call('HDEL', unique, hash[4])
    end
    done[#done + 1] = id
    emit(id, 'completed')
  elseif not (hash[1] == '' and hash[2] == fence and hash[3] == 'completed') then
    lost[#lost + 1] = (i + 1) / 5
  end
end
if #done > 0 then
  redis.call('ZREM', claims, unpack(done))
  redis.call('HINCRBY', stats, 'completed_total', #done)
  remember(completed, done, completed_history)
end
return lost
