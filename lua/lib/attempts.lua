-- log_attempt(id, outcome, error): appends one line of JSON to the job's attempt_log: who held the claim, from when
-- to when, how it ended. error is JSON text or nil. The newest 20 are kept. Successful attempts are not logged: the
-- hash itself tells them, and a plain job pays nothing.
-- logged_outcome(id, fence): how the claim with that fence ended, as the log has it; nil where it has not.
-- Needs: job, now, read.
local function log_attempt(id, outcome, error)
  local key = job .. id
  local attempt, fence, started_at, worker, log = unpack(read(key, 'attempts', 'fence', 'claimed_at_ms', 'worker',
    'attempt_log'))
  local entry = string.format(
    '{"attempt":%d,"fence":%.0f,"outcome":"%s","startedAt":%.0f,"endedAt":%.0f,"worker":%s,"error":',
    tonumber(attempt) or 0, tonumber(fence) or 0, outcome, tonumber(started_at) or 0, now,
    worker and cjson.encode(worker) or 'null') .. (error or 'null') .. '}'
  local lines = { entry }
  if log then
    local kept = {}
    for line in string.gmatch(log, '[^\n]+') do
      kept[#kept + 1] = line
    end
    lines = {}
    for i = math.max(1, #kept - 18), #kept do
      lines[#lines + 1] = kept[i]
    end
    lines[#lines + 1] = entry
  end
  redis.call('HSET', key, 'attempt_log', table.concat(lines, '\n'))
end

local function logged_outcome(id, fence)
  local log = read(job .. id, 'attempt_log')[1]
  return log and string.match(log, string.format('"fence":%.0f,"outcome":"(%%a+)"', tonumber(fence) or -1))
end
