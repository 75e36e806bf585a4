-- uses_of(asked): returns the keys that the options of an enqueue use, as a table of flags. Then the names of the groups,
--   and the keys of the batches as a set.
-- asked: the options of each job of the call, false for none.
-- Needs: batch_record, job, unique.

-- Returns the group of the job that this one may replace, or nil.
local function group_of_owner(options)
  local owner = redis.pcall('HGET', unique, options.unique)
  local group = type(owner) == 'string' and redis.pcall('HGET', job .. owner, 'group')
  return type(group) == 'string' and group or nil
end

-- Returns the options that some job has, as a set. Then whether some job has no group, the names of groups, and the
-- batches as a set.
local function options_of(asked)
  local used, is_ungrouped, names, batches = {}, false, {}, {}
  local function name_group(group)
    if group and not names[group] then
      names[group], names[#names + 1] = true, group
    end
  end
  for _, options in pairs(asked) do
    for option, value in pairs(options or {}) do
      used[option] = used[option] or value
    end
    if options then
      name_group(options.group)
      if options.unique_replace then
        name_group(group_of_owner(options))
      end
      if options.batch then
        batches[options.batch] = true
      end
    end
    is_ungrouped = is_ungrouped or not (options and options.group)
  end
  return used, is_ungrouped, names, batches
end

local function uses_of(asked)
  local used, is_ungrouped, names, batches = options_of(asked)
  local is_late, replaces, of_batches = used.run_at_ms or used.delay_ms or used.after, used.unique_replace, {}
  local uses = { pending = is_ungrouped or replaces, scheduled = is_late or replaces or used.request,
    prioritized = used.priority or replaces or used.request, sequence = used.priority or used.group,
    other_groups = replaces or used.group_limits or is_late, unique = used.unique, awaiting = used.after,
    request = used.request }
  for batch in pairs(batches) do
    if string.find(batch, '\t', 1, true) then
      uses.remote_members = true
    else
      of_batches[batch_record .. batch] = true
    end
  end
  return uses, names, of_batches
end
