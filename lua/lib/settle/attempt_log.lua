-- log_attempt(id, outcome, error): appends a line of JSON to the job's attempt_log: worker, start, end and outcome.
--   and the outcome. error: JSON text or nil. It keeps 20 lines. The oldest goes first, but lines that use no attempt
--   go before errors. Completed attempts are not logged: the hash has them, and a plain job pays nothing.
-- logged_outcome(id, fence): returns the logged outcome of the claim with that fence, or nil.
-- Needs: lib/core/clock, lib/core/keys, lib/core/read.
local gives_back = { snooze = true, interruption = true, rate_limited = true, unhandled = true, outage = true }

local function oldest_given_back(lines)
  for i, line in ipairs(lines) do
    if gives_back[string.match(line, '"outcome":"([%a_]+)"')] then
      return i
    end
  end
end

local function log_attempt(id, outcome, error)
  local key = job .. id
  local attempt, fence, started_at, worker, log = unpack(read(key, 'attempts', 'fence', 'claimed_at_ms', 'worker',
    'attempt_log'))
  local entry = string.format(
    '{"attempt":%d,"fence":%.0f,"outcome":"%s","startedAt":%.0f,"endedAt":%.0f,"worker":%s,"error":',
    tonumber(attempt) or 0, tonumber(fence) or 0, outcome, tonumber(started_at) or 0, now,
    worker and cjson.encode(worker) or 'null') .. (error or 'null') .. '}'
  local lines = {}
  for line in string.gmatch(log or '', '[^\n]+') do
    lines[#lines + 1] = line
    if #lines > 100 then
      return redis.call('HSET', key, 'attempt_log', entry) -- another program wrote it, and it would be walked through for each line
    end
  end
  while #lines > 19 do
    table.remove(lines, oldest_given_back(lines) or 1)
  end
  lines[#lines + 1] = entry
  redis.call('HSET', key, 'attempt_log', table.concat(lines, '\n'))
end

local function logged_outcome(id, fence)
  local log = read(job .. id, 'attempt_log')[1]
  return log and string.match(log, string.format('"fence":%.0f,"outcome":"([%%a_]+)"', tonumber(fence) or -1))
end
