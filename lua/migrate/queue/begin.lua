#!lua flags=allow-oom
-- Makes the caller the mover of this queue, and pauses the queue. Earlier movers can take nothing more. See
--   docs/internals/moving.md.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] source   a name for this move, if it has none yet
-- ARGV[2] to       the new place in words
-- ARGV[3] by       who moves it
-- Returns source, fence, and 1 if the queue was paused before the move.
-- Repeated: the same with a larger fence.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/pause
--@include lib/move/transit
redis.call('HSETNX', moving_state, 'source', ARGV[1])
redis.call('HSET', moving_state, 'to', ARGV[2])
local was_paused = pause(settings, ARGV[3], 'This queue moves to ' .. ARGV[2] .. '.', '') == 0
redis.call('HSETNX', moving_state, 'was_paused', was_paused and '1' or '0')
local source, paused_before = unpack(redis.call('HMGET', moving_state, 'source', 'was_paused'))
return { source, redis.call('HINCRBY', moving_state, 'fence', 1), tonumber(paused_before) }
