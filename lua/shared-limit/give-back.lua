#!lua flags=allow-oom
-- Gives back permits: of jobs that have ended, and those for which a claim found no job. The latter, and those of jobs that
-- never started, are refunded to the rates. So are units that the jobs of a claim did not need. A permit whose job still runs
-- gets another number then.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- ARGV[1] queue, as its keys spell it
-- ARGV[2] worker
-- ARGV[3..] for each permit: the token of its claim, a tab and its number; how much of the rates is refunded, or '' for none; the
--   version of the values when it was leased; its other number with the token before it, or '' if it is given back
-- Returns the queues to wake. Repeated: the permits are gone, so it changes nothing and wakes none.
local limit, permits, waiting, seen, rates = unpack(KEYS)
local holder = ARGV[1] .. '\t' .. ARGV[2] .. '\t'
--@include lib/core/clock
--@include lib/shared_limit/key
--@include lib/shared_limit/state
local ended, refunded, has_unused = 0, {}, false
for i = 3, #ARGV, 4 do
  local units, renamed = tonumber(ARGV[i + 1]), ARGV[i + 3]
  local ends_at = renamed ~= '' and redis.call('ZSCORE', permits, holder .. ARGV[i])
  if redis.call('ZREM', permits, holder .. ARGV[i]) == 1 then
    if ends_at then
      redis.call('ZADD', permits, ends_at, holder .. renamed)
    else
      ended, has_unused = ended + 1, has_unused or units ~= nil
    end
    refunded[#refunded + 1] = ARGV[i + 2] == version and units or nil
  end
end
if has_unused and not is_key then
  leave_line(ARGV[1]) -- its claim found no job; of a key, other jobs of the group may rest
end
for _, each in ipairs(refunded[1] and all_rates or {}) do
  for _, units in ipairs(refunded) do
    charge_rate(each[2], -cost_of(units, each[2]))
  end
  write_rate(each[1], each[2], #line > 0)
end
return call_first(ended > 0 and ended + 1 or 0) -- one more, in case that the first does not come
