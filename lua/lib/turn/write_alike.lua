-- The writes of lib/turn/take_alike, once for all its groups.
-- write_alike(names, ended, depths, emptied, n): takes the groups out of turns.
-- advance_alike(taken, clock, n, has_finishes): moves the virtual time on.
-- note_alike_heads(names, n): writes the places of some heads.
-- Needs: groups, lib/core/clock, lib/turn/no_group.

-- Writes many groups with a long member first. It turns a small set into a tree, or a small hash into a table.
local function write_alike(names, ended, depths, emptied, n)
  redis.call('ZREM', groups .. 'turns', unpack(names))
  if n >= 8 then
    redis.call('ZADD', groups .. 'depths', '0', no_group, unpack(depths))
    redis.call('ZREM', groups .. 'depths', no_group)
    redis.call('HSET', groups .. 'ends', no_group, '', unpack(ended))
    redis.call('HDEL', groups .. 'ends', no_group)
  else
    redis.call('ZADD', groups .. 'depths', unpack(depths))
    redis.call('HSET', groups .. 'ends', unpack(ended))
  end
  if emptied[1] then
    redis.call('ZREM', groups .. 'heads', unpack(emptied))
  end
end

-- Notes the first jobs of four of the groups, see lib/turn/take_head.
local function note_alike_heads(names, n)
  local scored, from = {}, tonumber(time[2])
  for i = from, from + math.min(n, 4) - 1 do
    local name = names[i % n + 1]
    local rank = redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, 0, 'WITHSCORES')[2]
    if rank then
      scored[#scored + 1], scored[#scored + 2] = string.format('%d', tonumber(rank) % 2 ^ 40), name
    end
  end
  if scored[1] then
    redis.call('ZADD', groups .. 'heads', unpack(scored))
  end
end

local function clock_text(clock)
  return string.format(clock % 1 == 0 and clock < 1e15 and '%d' or '%.17g', clock)
end

local function advance_alike(taken, clock, n, has_finishes)
  taken.is_more = redis.call('ZCARD', groups .. 'turns') > 0
  clock = taken.is_more and clock or math.max(clock, taken.latest_finish)
  redis.call('HSET', groups .. 'settings', 'virtual_time', clock_text(clock))
  local passed = has_finishes and redis.call('ZRANGE', groups .. 'finishes', '-inf', clock, 'BYSCORE', 'LIMIT', 0, 2 * n + 10)
  if passed and passed[1] then
    redis.call('ZREM', groups .. 'finishes', unpack(passed))
  end
end
