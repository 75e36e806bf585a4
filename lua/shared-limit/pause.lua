#!lua flags=allow-oom
-- Pauses a limit: it leases nothing until it is resumed, or until the pause ends by itself. Running jobs continue.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- ARGV[1] how long, in ms, or '' for without an end
-- ARGV[2] the reason, or ''
-- ARGV[3] who paused it, or ''
-- Returns 1 if it was not paused before, else 0; then the new end and reason apply. Repeated: the same, with 0.
local limit, permits, waiting, seen, rates = unpack(KEYS)
local ms = tonumber(ARGV[1])
--@include lib/core/clock
--@include lib/shared_limit/key
local paused_until = tonumber(redis.call('HGET', limit, 'paused_until_ms') or nil) or math.huge
local was_paused = redis.call('HEXISTS', limit, 'paused_at_ms') == 1 and paused_until > now
redis.call('HDEL', limit, 'paused_until_ms', 'pause_reason', 'paused_by')
redis.call('HSET', limit, 'paused_at_ms', now_text)
for field, value in pairs({ paused_until_ms = ms and string.format('%.0f', now + ms) or '', pause_reason = ARGV[2], paused_by = ARGV[3] }) do
  if value ~= '' then
    redis.call('HSET', limit, field, value)
  end
end
keep_key(0)
return was_paused and 0 or 1
