#!lua
-- Keeps what people said of a kind of error, until somebody says something else. The time of a quiet end is that of the
-- server. With too many kinds the one that was marked first is forgotten.
-- Transition: none
-- KEYS[1] error_marks  hash, kind -> the time of the mark in ms, the end of its quiet time in ms, 0 for none, and the words
-- ARGV[1] the kind
-- ARGV[2] the words, as text that only their writers read; '' to forget the kind
-- ARGV[3] how long the kind is quiet, in ms; 0 for not at all
-- ARGV[4] how long the key is kept, in ms
-- ARGV[5] the most kinds
-- Returns 1, or 0 if there was nothing to forget. Repeated: the same, with the times of the repeat.
--@include lib/core/clock
local error_marks = KEYS[1]
local kind, words, quiet, keep, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
if words == '' then
  return redis.call('HDEL', error_marks, kind)
end
if redis.call('HLEN', error_marks) >= most and redis.call('HEXISTS', error_marks, kind) == 0 then
  local all, first, first_at = redis.call('HGETALL', error_marks), nil, math.huge
  for i = 1, #all, 2 do
    local at = tonumber(string.match(all[i + 1], '^%d+')) or 0
    if at < first_at then
      first, first_at = all[i], at
    end
  end
  redis.call('HDEL', error_marks, first)
end
local quiet_until = quiet > 0 and string.format('%.0f', now + quiet) or '0'
redis.call('HSET', error_marks, kind, now_text .. ' ' .. quiet_until .. ' ' .. words)
redis.call('PEXPIRE', error_marks, keep)
return 1
