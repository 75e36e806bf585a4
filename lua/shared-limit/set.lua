#!lua
-- Sets the values of a limit at run time. They override those of the apps until they are cleared.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- ARGV[1] how many permits, '' for no bound, = as it is now
-- ARGV[2] the rates as JSON, each as limit, period in ms and burst; = as they are now
-- ARGV[3] for the store of a key: the values of its limit, as lib/shared_limit/write has them, else ''. They are those of now, unless
--   others were set for the key
-- Returns the queues to wake. Repeated: the same.
local limit, permits, waiting, seen, rates = unpack(KEYS)
--@include lib/core/clock
--@include lib/shared_limit/key
--@include lib/shared_limit/write
if is_key and redis.call('HEXISTS', limit, 'set') == 0 then
  redis.call('HSET', limit, 'configured', ARGV[3])
  write_configured()
end
--@include lib/shared_limit/state
local most = ARGV[1] == '=' and (redis.call('HGET', limit, 'max_running') or '') or ARGV[1]
local list = {}
if ARGV[2] == '=' then
  for _, each in ipairs(all_rates) do
    list[#list + 1] = redis.call('HMGET', each[1], 'rate_limit', 'rate_period_ms', 'rate_burst')
  end
else
  list = cjson.decode(ARGV[2]) -- as texts
end
write_values(most, list)
redis.call('HSET', limit, 'set', '1')
keep_key(0)
return call_first(most_woken)
