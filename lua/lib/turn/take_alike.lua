-- take_alike(count): takes up to count ids for a claim as lib/turn/take does, with a third of its work: the heads of the
--   first groups in turns, while these run one job at a time and have no state of their own, and while the only option of
--   their jobs is a group. Each of these groups has one turn, so their order is that of turns.
-- Returns nil if other jobs or groups may come first. Else the ids, with what lib/turn/take goes on with: bytes, groups and
--   latest_finish; is_done: nothing is left for it; is_more: a group could run another job; waiting: how many jobs wait.
-- It is self-contained and leaves nothing to write, so that a claim of such jobs alone does not define the rest.
-- Needs: job, groups, pending, prioritized, now, now_text, time, most_bytes, known_jobs.
--@include lib/group/no_group
local lines = groups .. 'waiting:'

-- Takes a job out of its line if it is such a one.
local function take_plain_head(name, taken)
  local head = redis.pcall('ZPOPMIN', lines .. name) -- an error here would lose the ids that are taken already
  local id = head[1]
  if not id then
    return nil
  end
  local found = redis.pcall('HMGET', job .. id, 'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'status')
  local payload = found[2]
  if payload and not found[3] and found[6] == 'pending' and found[5] == ' {"group":"' .. name .. '"}' then
    local bytes = taken.bytes + #payload
    if bytes <= most_bytes then
      found.may_run, found.is_alike, taken.bytes, known_jobs[id] = true, true, bytes, found
      return id
    end
  end
  redis.call('ZADD', lines .. name, head[2], id)
end

-- For many groups a long member comes first, and turns a small set into a tree, or a small hash into a table.
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

-- What the first groups in turns share; nil if these are not to be taken here.
local function read_alike(count)
  local max_running, interval, weight, virtual_time, review = unpack(redis.call('HMGET', groups .. 'settings', 'max_running',
    'rate_interval_us', 'weight', 'virtual_time', 'review_cursor'))
  if count < 1 or max_running ~= '1' or interval or review or redis.call('EXISTS', pending, prioritized, groups .. 'gated') > 0 then
    return nil
  end
  local resting = redis.call('ZRANGE', groups .. 'resting', 0, 0, 'WITHSCORES')[2]
  if resting and tonumber(resting) <= now then
    return nil
  end
  return redis.call('ZRANGE', groups .. 'turns', 0, count - 1, 'WITHSCORES'), 1 / (tonumber(weight or nil) or 1),
    tonumber(virtual_time or nil) or 0
end

-- Raises an error while no job is taken yet if a key is spoilt that is first written after that. Returns whether a group
-- has a finish.
local function check_keys()
  redis.call('HLEN', groups .. 'ends')
  redis.call('ZCARD', groups .. 'heads')
  return redis.call('ZCARD', groups .. 'finishes') > 0
end

-- The first groups up to one that has a state, the start of each, the keys of their slots, and whether all are known to
-- be unused.
local function first_alike(found)
  local names, starts, slots = {}, {}, {}
  for i = 1, #found, 2 do
    local place = (i + 1) / 2
    names[place], starts[place], slots[place] = found[i], found[i + 1], groups .. 'running:' .. found[i]
  end
  if not names[1] or redis.call('EXISTS', groups .. 'states', unpack(slots)) == 0 then
    return names, starts, slots, true
  end
  local states = redis.call('EXISTS', groups .. 'states') == 1 and redis.call('HMGET', groups .. 'states', unpack(names))
  for place = 1, states and #names or 0 do
    if states[place] then
      return { unpack(names, 1, place - 1) }, starts, { unpack(slots, 1, place - 1) }
    end
  end
  return names, starts, slots
end

local function take_alike(count)
  count = math.min(count, 1000)
  local found, step, clock = read_alike(count)
  if not found then
    return nil
  end
  local names, starts, slots, are_unused = first_alike(found)
  if #found > 0 and not names[1] or not are_unused and redis.call('EXISTS', unpack(slots)) > 0 then
    return nil
  end
  local has_finishes = check_keys()
  local waiting_before = names[1] and redis.call('ZMSCORE', groups .. 'depths', unpack(names))
  local last_start, finish, n = nil, nil, 0
  local taken, ended, depths, emptied, fewer = { bytes = 0, groups = {} }, {}, {}, {}, { ['1'] = '0' }
  for i, name in ipairs(names) do
    local depth, start = waiting_before[i], starts[i]
    local id = name ~= '' and depth and depth ~= '0' and take_plain_head(name, taken)
    if not id then
      break
    end
    redis.call('ZADD', slots[i], now_text, id)
    if start ~= last_start then
      last_start, clock = start, math.max(clock, tonumber(start))
      finish = clock_text(clock + step)
    end
    fewer[depth] = fewer[depth] or string.format('%d', tonumber(depth) - 1)
    n = n + 1
    taken[n], taken.groups[n] = id, name
    ended[2 * n - 1], ended[2 * n], depths[2 * n - 1], depths[2 * n] = name, finish, fewer[depth], name
    if depth == '1' then
      emptied[#emptied + 1] = name
    end
  end
  taken.is_done = n == count or 2 * n == #found and n < count
  if n > 0 then
    taken.latest_finish = clock + step
    write_alike(taken.groups, ended, depths, emptied, n)
    taken.waiting = redis.call('HINCRBY', groups .. 'settings', 'waiting', string.format('%d', -n))
    advance_alike(taken, clock, n, has_finishes)
    note_alike_heads(taken.groups, n)
  end
  return taken
end
