#!lua
-- Makes the copied record of a batch the one of its new place. Nothing checks it before all its members are there.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] source   the name of the move
-- ARGV[2] fence    of this mover
-- ARGV[3] id
-- ARGV[4] key      of its entry
-- ARGV[5] created  when it was created, in ms
-- ARGV[6..] the lengths of the copied parts: record, open, members, outcomes
-- Returns stale and the larger fence of another mover, else new, known (its entry is marked), existing (its id is in use here) or
--   lost (a part of the copy is gone, by an eviction or its age: copy it again).
-- Repeated: known; lost again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/batch/by_age
--@include lib/move/transit
local source, fence, id = ARGV[1], ARGV[2], ARGV[3]
local base = string.sub(sweep, 1, -6)
local once_fences, once = base .. 'once_fences', base .. 'once:' .. source
--@include lib/once/begin_sending
local key, copied, reply = batch_record .. id, moving_batch .. fence .. ':' .. id, 'new'
if redis.call('ZSCORE', once, ARGV[4]) then
  reply = 'known'
elseif redis.call('EXISTS', key) == 1 then
  reply = 'existing'
end
local length_of = { 'HLEN', 'ZCARD', 'LLEN', 'HLEN' }
for i = 6, #ARGV do
  if reply == 'new' and redis.call(length_of[i - 5], copied .. batch_parts[i - 5]) ~= tonumber(ARGV[i]) then
    return 'lost'
  end
end
for _, part in ipairs(batch_parts) do
  if reply ~= 'new' then
    redis.call('UNLINK', copied .. part)
  elseif redis.call('EXISTS', copied .. part) == 1 then
    redis.call('RENAME', copied .. part, key .. part)
    redis.call('PERSIST', key .. part)
  end
end
if reply == 'new' then
  redis.pcall('ZADD', batches_by_age, ARGV[5], id)
  redis.call('ZADD', once, now_text, ARGV[4])
end
return reply
