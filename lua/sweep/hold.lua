#!lua flags=allow-oom
-- Takes, keeps or gives back the right to maintain a set of queues. One process of those with the same queues has it.
-- The right only saves work. Several processes may maintain a queue at the same time, because each script is safe by
-- itself. So a holder that was away needs no fence: it may finish its sweep beside that of the next holder.
-- A process that is refused gets a turn to ask again. Each interval of the clock is the turn of one process, so one asks
-- in each. If that one is gone too, the next one follows an interval later.
-- Transition: none
-- KEYS[1] maintainers  hash, digest of a set of queues -> end of the right in ms, its length in ms, the holder
--   digest:turns -> the intervals that are the turn of a process, by their number since 1970, each with its number of processes
-- KEYS[2..] keys that exist only while a queue of the set has work; none if the holder looks by another call
-- ARGV[1] digest of the names of the queues, and of the interval of the maintenance
-- ARGV[2] the process
-- ARGV[3] how long it keeps the right, in ms; 0 gives it back
-- ARGV[4] the interval in ms
-- ARGV[5] the most intervals until a turn. If all are taken, processes ask in parts of the interval before the last one.
-- Returns 1 if the process has the right, else 0; then in how many ms it is its turn to ask again, 0 for none; then 1 if it has
--   the right and no other process waits for its turn, else 0; then now in ms if it has the right and none of KEYS[2..]
--   exists, else 0.
-- Repeated: the same, but a refused process gets another turn. Nobody asks in the one of the lost reply.
--@include lib/core/clock
local maintainers = KEYS[1]
local set, process, length, interval, most_turns = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local turns = set .. ':turns'

-- Returns who has a right, if it is not over. A right that lasts longer than its length was taken by a clock that was ahead.
local function holder_of(right)
  local until_text, length_text, holder = string.match(right or '', '^(%d+) (%d+) (.*)$')
  local left = (tonumber(until_text) or 0) - now
  return left > 0 and left <= tonumber(length_text) and holder or nil
end

-- Deletes some rights that are over, by chance, and turns of other sets. A process whose queues change leaves them for each
-- set.
local function forget_some()
  local some = redis.call('HRANDFIELD', maintainers, 5, 'WITHVALUES')
  for i = 1, #some, 2 do
    if some[i] ~= turns and not holder_of(some[i + 1]) then
      redis.call('HDEL', maintainers, some[i])
    end
  end
end

-- Returns the part of an interval at which the process of a rank asks: 0, 1/2, 1/4, 3/4, 1/8 and so on. So any number of
-- processes asks at an even pace.
local function part_of(rank)
  local part, step = 0, 0.5
  while rank > 0 do
    part, step, rank = part + step * (rank % 2), step / 2, math.floor(rank / 2)
  end
  return part
end

-- Gives the process the first interval that no other has, else a part of the one before the last. Forgets turns beyond the last
-- one, such as those of a clock that was ahead. Their processes may share a turn then. An interval that begins at once is
-- the one that has just been used.
local function take_turn()
  local first = math.floor(now / interval + 0.1) + 1
  local last, takers, kept, turn = first + most_turns - 1, {}, {}, first
  local kept_turns = redis.call('HGET', maintainers, turns) or ''
  for text, count in string.gmatch(#kept_turns <= 8192 and kept_turns or '', '(%d+)x(%d+)') do
    takers[tonumber(text)] = tonumber(count)
  end
  while takers[turn] and turn < last do
    turn = turn + 1
  end
  local rank = takers[turn] or 0
  takers[turn] = rank + 1
  for each = first, last do
    kept[#kept + 1] = takers[each] and string.format('%.0fx%d', each, takers[each])
  end
  redis.call('HSET', maintainers, turns, table.concat(kept, ' '))
  local before = rank > 0 and turn > first and 1 - part_of(rank) or 0
  return (turn - before) * interval - now
end

-- Returns whether no turn is taken from now on. A process that waits has one within the next intervals.
local function is_alone()
  for text in string.gmatch(redis.call('HGET', maintainers, turns) or '', '(%d+)x%d+') do
    if tonumber(text) >= math.floor(now / interval) then
      return false
    end
  end
  return true
end

local holder = holder_of(redis.call('HGET', maintainers, set))
if holder and holder ~= process then
  return { 0, length > 0 and take_turn() or 0, 0, 0 }
end
if not holder then
  forget_some()
end
if length == 0 then
  if holder == process then
    redis.call('HDEL', maintainers, set, turns)
  end
  return { 0, 0, 0, 0 }
end
redis.call('HSET', maintainers, set, string.format('%.0f %.0f ', now + length, length) .. process)
redis.call('PEXPIRE', maintainers, string.format('%.0f', 2 * length))
local is_idle = #KEYS > 1 and redis.call('EXISTS', unpack(KEYS, 2)) == 0
return { 1, 0, is_alone() and 1 or 0, is_idle and now or 0 }
