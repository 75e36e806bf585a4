#!lua flags=allow-oom
-- Takes, keeps or gives back the right to maintain a set of queues. One process of those with the same queues has it.
-- The right only saves work. Several processes may maintain a queue at the same time, because each script is safe by
-- itself. So a holder that was away needs no fence: it may finish its sweep beside that of the next holder.
-- Transition: none
-- KEYS[1] maintainers  hash, digest of a set of queues -> end of the right in ms, its length in ms, the holder
-- ARGV[1] digest of the names of the queues, and of the interval of the maintenance
-- ARGV[2] the process
-- ARGV[3] how long it keeps the right, in ms; 0 gives it back
-- Returns 1 if the process has the right. Repeated: the same.
--@include lib/core/clock
local maintainers = KEYS[1]
local set, process, length = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- Returns who has a right, if it is not over. A right that lasts longer than its length was taken by a clock that was ahead.
local function holder_of(right)
  local until_text, length_text, holder = string.match(right or '', '^(%d+) (%d+) (.*)$')
  local left = (tonumber(until_text) or 0) - now
  return left > 0 and left <= tonumber(length_text) and holder or nil
end

-- Deletes some rights that are over, by chance. A process whose queues change leaves one for each set.
local function forget_some()
  local some = redis.call('HRANDFIELD', maintainers, 5, 'WITHVALUES')
  for i = 1, #some, 2 do
    if not holder_of(some[i + 1]) then
      redis.call('HDEL', maintainers, some[i])
    end
  end
end

local holder = holder_of(redis.call('HGET', maintainers, set))
if holder and holder ~= process then
  return 0
end
if not holder then
  forget_some()
end
if length == 0 then
  if holder == process then
    redis.call('HDEL', maintainers, set)
  end
  return 0
end
redis.call('HSET', maintainers, set, string.format('%.0f %.0f ', now + length, length) .. process)
redis.call('PEXPIRE', maintainers, string.format('%.0f', 2 * length))
return 1
