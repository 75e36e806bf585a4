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
-- ARGV[5..] for the jobs that one claim brought together: its token, how many follow; for each: id, fence, result (JSON,
--   or '' for none), ending ('1' for a plain job: a first attempt without options, which holds no unique key and left no
--   error; '' for another; or JSON where its handler or its options ask for more: plain, result_ttl_ms instead of ARGV[4]);
--   then the next such group
-- Returns the positions (from 1) of the claims that were lost: not current, and not completed by this very claim.
-- Repeated: the token is empty and the fence equal, so it counts as done and changes nothing.
local job, claims, completed, stats = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local unique, events = KEYS[5], KEYS[6]
local completed_history, fallen_ttl, publish, result_ttl = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
--@include lib/clock
--@include lib/events
--@include lib/history
--@include lib/read
local done, lost, position = {}, {}, 0
local kept_until = string.format('%d', now + result_ttl)

local at = 5
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
return lost
