#!lua flags=allow-oom
-- Gives back permits: of jobs that have ended, and those for which a claim found no job. The latter, and those of jobs that
-- never started, are refunded to the rates.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- ARGV[1] queue, as its keys spell it
-- ARGV[2] worker
-- ARGV[3] what each job costs of the rates, from 1
-- ARGV[4..] for each permit: the token of its claim, a tab and its number; '1' if nothing started with it, else ''; the
--   version of the values when it was leased
-- Returns the queues to wake. Repeated: the permits are gone, so it changes nothing and wakes none.
local limit, permits, waiting, seen, rates = unpack(KEYS)
local holder = ARGV[1] .. '\t' .. ARGV[2] .. '\t'
--@include lib/core/clock
--@include lib/shared_limit/state
local ended, refunded, has_unused = 0, 0, false
for i = 4, #ARGV, 3 do
  if redis.call('ZREM', permits, holder .. ARGV[i]) == 1 then
    ended = ended + 1
    refunded = refunded + (ARGV[i + 1] == '1' and ARGV[i + 2] == version and 1 or 0)
    has_unused = has_unused or ARGV[i + 1] == '1'
  end
end
if has_unused then
  leave_line(ARGV[1]) -- its claim found no job
end
if refunded > 0 then
  for _, each in ipairs(all_rates) do
    charge_rate(each[2], -refunded * cost_of(tonumber(ARGV[3]), each[2]))
    write_rate(each[1], each[2], #line > 0)
  end
end
return call_first(ended > 0 and ended + 1 or 0) -- one more, in case that the first does not come
