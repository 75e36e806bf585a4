-- add_dropping(id, name, payload, options): adds one job as add_newest does. If a bound refuses it, cancels the oldest
--   waiting jobs within that bound until it fits. One job drops at most 100 others.
-- Needs: plain, lib/core/keys, lib/group/line_and_slots, lib/group/place, lib/newest/add_newest,
--   lib/newest/end_waiting, lib/unique/replace.
local most_dropped = 100

-- Returns the first job with the least priority in a line.
local function least_urgent(line)
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  if last[1] then
    local first_rank = math.floor(tonumber(last[2]) / 2 ^ 40) * 2 ^ 40
    return redis.call('ZRANGE', line, string.format('%.0f', first_rank), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  end
end

-- Looks at the groups whose heads wait longest. Places those of this step before, because until then their heads are the old ones.
local function oldest_in_groups()
  if next(touched_groups) then
    place_groups()
    checked_lines = {} -- their lengths were read before this step
  end
  for _, group in ipairs(redis.call('ZRANGE', groups .. 'heads', 0, 9)) do
    local id = least_urgent(groups .. 'waiting:' .. group)
    if id then
      return id
    end
  end
end

-- Returns no job that has a start or waits for others.
local function oldest_waiting(group)
  if group then
    return least_urgent(groups .. 'waiting:' .. group)
  end
  return redis.call('LINDEX', pending, -1) or plain[1] or least_urgent(prioritized) or oldest_in_groups()
end

-- Returns nil for a job that a sweep must look at first.
local function drop(id, by)
  if redis.pcall('HGET', job .. id, 'status') ~= 'pending' then
    return nil
  end
  if redis.call('LINDEX', pending, -1) == id then
    redis.call('RPOP', pending) -- a search by LREM would read the whole list
  elseif not leave_place(id) then
    return nil
  end
  make_room(redis.call('HSTRLEN', job .. id, 'payload'))
  end_older(id, 'superseded_by', by)
  return true
end

local function add_dropping(id, name, payload, options)
  for _ = 1, most_dropped do
    local verdict, detail, about = add_newest(id, name, payload, options)
    local of_group = verdict == 'group_full' or verdict == 'group_full_bytes'
    local is_bytes = verdict == 'full_bytes' or verdict == 'group_full_bytes'
    local is_full = of_group or is_bytes or verdict == 'full'
    local oldest = is_full and not (is_bytes and #payload > tonumber(detail)) and oldest_waiting(of_group and about)
    if not (oldest and drop(oldest, id)) then
      return verdict, detail, about
    end
  end
  return add_newest(id, name, payload, options)
end
