-- The first job of a group, for lib/turn/take_head.
-- first_in_line(name, waiting, may_stay): takes it, or only reads it.
-- known_jobs: fields of the taken jobs, by id, for lib/settle/claim_ids. They are name, payload, attempts,
--   enqueued_at_ms, options, status and group. The eighth is grouped for a first attempt whose only option is its group.
--   It is runs if no field says that it must not; else false. A named field would cost each table a second part.
-- Reads the fields of a job that a claim needs. Returns them, and the cost. The space is the mark of lib/enqueue/options
-- for a job whose only option is its group. Processes before it wrote none.
-- Needs: job, lib/core/read.
local function look_at_job(name, id)
  local found = read(job .. id, 'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'status', 'group')
  if not found[3] and found[2] and found[5] == ' {"group":"' .. name .. '"}' then
    found[8] = 'grouped'
    return found, 1
  end
  local cost, expires_at, cancelled, unmet, crashes = unpack(read(job .. id, 'cost', 'expires_at_ms', 'cancel_requested_at_ms', 'unmet',
    'crashes'))
  found[8] = not (found[3] or expires_at or cancelled or unmet or crashes) and 'runs'
  return found, math.min(1e6, math.max(1, tonumber(cost or nil) or 1)) -- as lib/limits/cost_of does
end

-- Takes the first job of a group's line. Only reads it if limits or a name may leave it there. Returns its id and rank,
-- the error of a line that another client has spoilt, its fields and its cost.
local function first_in_line(name, waiting, may_stay)
  local head = may_stay and redis.pcall('ZRANGE', waiting, 0, 0, 'WITHSCORES') or redis.pcall('ZPOPMIN', waiting)
  local id, found, cost = head[1], nil, nil
  if id then
    found, cost = look_at_job(name, id)
  end
  if found and found[6] and found[6] ~= 'pending' then -- ended, or claimed, from outside
    redis.call('ZREM', waiting, id)
    id = nil
  end
  return id, head[2], head.err, found, cost
end
