-- The last runs of a schedule, newest first, as text in the field `runs` of its hash, such as 1764126000000=completed.
--   The run comes first: the end of its job's id, after @schedule: and the schedule's id. A run by hand has its time in
--   front: 1764126000000/run. Then comes the state of its job at the last look. It is missed or kept without a job, and
--   gone if the record went before somebody saw the end.
-- runs_now(id, runs): returns them with the states of their jobs as of now. Ends other than failed stay.
-- note_run(id, key, run, state): adds one run, and drops all but the last twenty.
-- note_ends(id, key, runs): writes the states of runs whose jobs had not ended, before their records go. Without the
--   permission it writes nothing.
-- Needs: lib/core/keys.
local runs_limit = 20
local last_states = { completed = true, cancelled = true, missed = true, kept = true, gone = true }

-- Returns none for a text longer than any that scripts write, because the pattern is slow on a long text without =.
local function runs_now(id, runs)
  if #runs > 8192 then
    return ''
  end
  return (string.gsub(runs, '(%S+)=(%l+)', function(run, state)
    if last_states[state] then
      return nil
    end
    local status = redis.pcall('HGET', job .. '@schedule:' .. id .. ':' .. string.match(run, '[^/]*$'), 'status')
    if type(status) == 'string' and string.find(status, '^%l+$') then
      return run .. '=' .. status
    end
    return state ~= 'failed' and run .. '=gone' or nil
  end))
end

local function note_run(id, key, run, state)
  local known = redis.call('HGET', key, 'runs') or ''
  if string.find(' ' .. known, ' ' .. run .. '=', 1, true) then
    return
  end
  local runs = { run .. '=' .. state }
  for each in string.gmatch(runs_now(id, known), '%S+') do
    if #runs < runs_limit then
      runs[#runs + 1] = each
    end
  end
  redis.call('HSET', key, 'runs', table.concat(runs, ' '))
end

local function note_ends(id, key, runs)
  if runs and string.find(runs, '=[ps]') then -- pending, processing or scheduled
    local seen = runs_now(id, runs)
    if seen ~= runs then
      redis.pcall('HSET', key, 'runs', seen)
    end
  end
end
