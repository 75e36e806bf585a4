-- record_outcomes(): writes one line for each job that ended, and for a dead letter that retention deleted. Deletes the
--   lines of jobs that somebody deleted.
-- The lines are in two hashes. The one that expires later gets the new lines. Once it is full, or older than the age, the
--   other is emptied and gets them. So all lines expire by themselves, and each command here is O(1) for a line.
-- Needs: outcome_age, outcomes_a, outcomes_b, outcomes_cap, prefix, server, transition, lib/audit/changes.
local ended = { completed = 'completed_at_ms', failed = 'failed_at_ms', cancelled = 'cancelled_at_ms' }
local deletes = { remove = true, discard = true, clean = true }

-- Returns the hash for new lines.
local function newer_outcomes()
  local a_left, b_left = server.call('PTTL', outcomes_a), server.call('PTTL', outcomes_b)
  local newer, older, left = outcomes_a, outcomes_b, a_left
  if b_left > a_left then
    newer, older, left = outcomes_b, outcomes_a, b_left
  end
  if left > outcome_age and server.call('HLEN', newer) < outcomes_cap / 2 then
    return newer
  end
  local is_first = left == -2
  if not is_first then
    server.call('UNLINK', older)
  end
  return is_first and newer or older, true
end

-- Returns the line of a job's end: its state, time, attempts and name.
local function outcome_line(id, change, state)
  local name, attempts, at = unpack(server.call('HMGET', prefix .. id, 'name', 'attempts', ended[state]))
  local now = server.call('TIME')
  at = at or change.failed_at or now[1] .. string.sub('00000' .. now[2], -6, -4)
  return state .. ' ' .. at .. ' ' .. (attempts or change.attempts or '0') .. ' ' .. (name or change.name or '')
end

local function has_line(id)
  return server.call('HEXISTS', outcomes_a, id) == 1 or server.call('HEXISTS', outcomes_b, id) == 1
end

local function record_outcomes()
  if transition == 'purge' then
    server.call('UNLINK', outcomes_a, outcomes_b)
    return
  end
  local lines = {}
  for _, id in ipairs(order) do
    local change = changes[id]
    local is_deleted = change.to == ''
    local state = is_deleted and (change.ended or change.from) or change.to
    if is_deleted and change.from ~= '' and deletes[transition] then
      server.call('HDEL', outcomes_a, id)
      server.call('HDEL', outcomes_b, id)
    elseif ended[state] and not (is_deleted and has_line(id)) then
      lines[#lines + 1], lines[#lines + 2] = id, outcome_line(id, change, state)
    end
  end
  if lines[1] then
    local newer, is_new = newer_outcomes()
    for i = 1, #lines, 2 do
      server.call('HSET', newer, lines[i], lines[i + 1])
    end
    if is_new then
      server.call('PEXPIRE', newer, string.format('%.0f', 2 * outcome_age))
    end
  end
end
