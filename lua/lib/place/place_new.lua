-- place_new(id, options, rank): puts a new job into scheduled until its start. Else it goes into prioritized, into the line
--   of its group or, with the rest of the batch, into pending. With lifo it goes to the front of pending.
-- rank_at_once(options): returns its rank in a line that it joins at once, for its hash; nil if it joins none.
-- Needs: claimable, groups, job, pending, plain, prioritized, scheduled, lib/core/clock, lib/group/line_and_slots,
--   lib/group/new_ranks, lib/group/place.
local function due_of(options)
  local due = options.run_at_ms or options.delay_ms and now + options.delay_ms
  return due and due > now and due
end

local function rank_at_once(options)
  return (options.group or options.priority) and not due_of(options) and new_rank(options.priority) or nil
end

-- Puts a job into the line of its group. The first of the line stays the first, unless an urgent job joins.
local function join_line(name, id, rank, is_urgent)
  local joined = redis.call('ZADD', groups .. 'waiting:' .. name, rank, id)
  local line = touched_groups[name] or { depth = checked_lines[name], rank = false }
  if not line.depth or joined == 0 or is_urgent and line.depth > 0 then
    touch(name)
  else
    line.rank, line.depth = line.depth == 0 and rank or line.rank, line.depth + 1
    touched_groups[name] = line
  end
end

local function place_new(id, options, rank)
  local due = not rank and due_of(options)
  if due then
    due = string.format('%d', due)
    redis.call('HSET', job .. id, 'status', 'scheduled', 'due_at_ms', due)
    if options.lifo then
      redis.call('HSET', job .. id, 'lifo', '1')
    end
    redis.call('ZADD', scheduled, due, id)
    claimable = claimable or redis.call('ZRANGE', scheduled, 0, 0)[1] == id
  elseif options.group or options.priority then
    if not rank then
      rank = new_rank(options.priority)
      redis.call('HSET', job .. id, 'rank', rank)
    end
    if options.group then
      join_line(options.group, id, rank, options.priority)
    else
      redis.call('ZADD', prioritized, rank, id)
      claimable = true
    end
  elseif options.lifo then
    redis.call('RPUSH', pending, id)
    claimable = true
  else
    plain[#plain + 1] = id
  end
end
