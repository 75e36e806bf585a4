-- The next job of a group, for lib/turn/take_head. That is the first in line. With urgent jobs, one turn in ten is of the
-- oldest plain job. One is of the first of a random priority, as in lib/place/take.
-- first_in_line(name, group, waiting, may_stay, count): takes it, or only reads it. count: the jobs of groups that the claim
--   has taken
-- known_jobs: fields of the taken jobs, by id, for lib/settle/claim_ids. They are name, payload, attempts,
--   enqueued_at_ms, options, status and group. The eighth is grouped for a first attempt whose only option is its group.
--   It is runs if no field says that it must not; else false. A named field would cost each table a second part.
-- Reads the fields of a job that a claim needs. Returns them, and the cost. The space is the mark of lib/enqueue/options
-- for a job whose only option is its group. Processes before it wrote none.
-- Needs: job, sequence, lib/core/read, lib/group/state, lib/turn/claim_others.
local function look_at_job(name, id)
  local found = read(job .. id, 'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'status', 'group')
  if not found[3] and found[2] and found[5] == ' {"group":"' .. name .. '"}' then
    found[8] = 'grouped'
    return found, 1
  end
  local cost, expires_at, cancelled, unmet, crashes = unpack(read(job .. id, 'cost', 'expires_at_ms', 'cancel_requested_at_ms', 'unmet',
    'crashes'))
  found[8] = not (found[3] or expires_at or cancelled or unmet or crashes) and 'runs'
  return found, math.floor(math.min(1e6, math.max(1, tonumber(cost or nil) or 1))) -- as lib/limits/cost_of does
end

local function line_start_of(rank)
  return math.floor(tonumber(rank) / 2 ^ 40) * 2 ^ 40
end

-- Returns the job of a line whose turn it is, and its rank, unless it is that of the urgent head. popped: 1 if the head has
-- left the line, else 0
local function by_turn(waiting, head_rank, popped, count)
  local share = (tonumber(redis.call('GET', sequence) or 0) + count) * 0.4142135623730951 % 1 -- of the root of 2, so not in step with lib/place/take
  local start = 0
  if share >= 0.2 then
    return nil
  elseif share >= 0.1 then
    local index = math.floor((share * 10 - 1) * (redis.call('ZCOUNT', waiting, '-inf', '(0') + popped)) - popped
    start = index < 0 and line_start_of(head_rank) or line_start_of(redis.call('ZRANGE', waiting, index, index, 'WITHSCORES')[2])
  end
  if start ~= line_start_of(head_rank) then
    return unpack(redis.call('ZRANGE', waiting, string.format('%.0f', start), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'))
  end
end

-- Takes the next job of a group's line. Only reads it if limits or a name may leave it there. Returns its id and rank,
-- the error of a line that another client has spoilt, its fields and its cost.
local function first_in_line(name, group, waiting, may_stay, count)
  local head = may_stay and redis.pcall('ZRANGE', waiting, 0, 0, 'WITHSCORES') or redis.pcall('ZPOPMIN', waiting)
  local id, found, cost = head[1], nil, nil
  local other, rank
  if id and tonumber(head[2]) < 0 then
    other, rank = by_turn(waiting, head[2], may_stay and 0 or 1, count)
  end
  if other then
    found, cost = look_at_job(name, other)
    -- Else it is the turn of the head, because this job may not start here or now.
    if found[6] == 'pending' and not (may_stay and (opens_at(group, cost) or can_take and not can_take(other))) then
      if not may_stay then
        redis.call('ZREM', waiting, other)
        redis.call('ZADD', waiting, head[2], id)
      end
      return other, rank, nil, found, cost
    end
  end
  if id then
    found, cost = look_at_job(name, id)
  end
  if found and found[6] and found[6] ~= 'pending' then -- ended, or claimed, from outside
    redis.call('ZREM', waiting, id)
    id = nil
  end
  return id, head[2], head.err, found, cost
end
