-- place_moved(id, place, score, is_first): puts a job whose hash is there into a place. is_first: the first of its line.
-- hold_again(id, group, hold): lets it hold its group as before.
-- own_again(id, key, held_until): makes it the owner of its unique key again. held_until: '' until its end, else an instant in ms.
-- finish_moved(): wakes a worker, and places the groups. The last call of a script that placed a job.
-- Needs: lib/core/clock, lib/core/keys, lib/group/join, lib/group/place, lib/group/slot, lib/unique/longest_window.
--@include lib/signal/parked
--@include lib/signal/parked_until
local is_anything_placed = false

local function place_moved(id, place, score, is_first)
  is_anything_placed = true
  if place == 'pending' then
    redis.call(is_first and 'RPUSH' or 'LPUSH', pending, id)
  elseif place == 'group' then
    join_again(redis.call('HGET', job .. id, 'group'), id, score)
  else
    redis.call('ZADD', place == 'dead' and dead or place == 'prioritized' and prioritized or scheduled, score, id)
    if place == 'scheduled' and parked_until(job .. id) == tonumber(score) then
      redis.call('ZADD', awaiting_signals, score, id)
    end
  end
end

local function hold_again(id, group, hold)
  if hold ~= '' and group then
    note_groups()
    hold_group(group, id, hold == 'dead')
  end
end

local function own_again(id, key, held_until)
  redis.call('HSET', unique, key, id)
  if held_until == '' then
    redis.call('ZREM', unique_expiries, key)
  else
    redis.call('ZADD', unique_expiries, held_until, key)
    note_window(math.max(1, tonumber(held_until) - now))
  end
end

local function finish_moved()
  if is_anything_placed then
--@include lib/core/wake
  end
  place_groups()
end
