-- Ends the claims of `taken` as crashes, and adds id, new status and worker of each to the replies. Notes each dead worker
--   as a mark of the history, with the jobs that it ran. A statement, so that a script can include it as one.
-- taken: the id and the fence of each claim. reason: why its worker is gone. keep: how long a mark is kept, in ms.
-- Needs: keep, reason, replies, taken, lib/core/clock, lib/core/keys, lib/core/read, lib/group/place,
--   lib/limits/freed_slot, lib/settle/crash.
do
  local deaths, most_shown = {}, 5
  local marks = string.gsub(job, 'job:$', 'history_marks')

  local function note_death(worker, how, id)
    local death = deaths[worker]
    if not death then
      death = { how = how, jobs = 0, names = {}, ids = {} }
      deaths[worker], deaths[#deaths + 1] = death, worker
    end
    death.jobs = death.jobs + 1
    if death.jobs <= most_shown then
      death.names[death.jobs], death.ids[death.jobs] = read(job .. id, 'name')[1] or '', id
    end
  end

  -- The job claimed first must be claimed first again, so it is put to the front last.
  table.sort(taken, function(a, b) return a.fence > b.fence end)
  for _, claim in ipairs(taken) do
    local n = #replies
    local status, worker, how = crash(claim.id, reason)
    replies[n + 1], replies[n + 2], replies[n + 3] = claim.id, status, worker
    if how and worker ~= '' then
      note_death(worker, how, claim.id)
    end
  end
  place_groups()
  -- The claims go last: if a step breaks off, a reclaim finds the jobs.
  for _, claim in ipairs(taken) do
    redis.call('ZREM', claims, claim.id)
  end
  if #taken > 0 then
    wake_for_slot()
  end
  for _, worker in ipairs(deaths) do
    local death = deaths[worker]
    -- A clock that was ahead has written later marks. Then this one is left out, and the work above is done.
    redis.pcall('XADD', marks, 'MINID', '~', string.format('%.0f', now - keep), now_text .. '-*', 'kind', 'death', 'worker', worker,
      'how', death.how, 'jobs', death.jobs, 'names', cjson.encode(death.names), 'ids', cjson.encode(death.ids))
    redis.call('PEXPIRE', marks, keep)
  end
end
