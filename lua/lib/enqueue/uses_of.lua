-- uses_of(asked): returns the keys that the options of an enqueue use, as a table of flags. Then the names of the groups,
--   and the keys of the batches as a set.
-- asked: the options of each job of the call, false for none.
-- Needs: batch_record, job, unique.

-- Returns the group of the job that this one may replace, or nil.
local function group_of_owner(options)
  local owner = options.unique_replace and redis.pcall('HGET', unique, options.unique)
  local group = type(owner) == 'string' and redis.pcall('HGET', job .. owner, 'group')
  return type(group) == 'string' and group or nil
end

local function uses_of(asked)
  local uses, names, of_batches = {}, {}, {}
  local function name_group(group)
    if group and not names[group] then
      names[group], names[#names + 1] = true, group
    end
  end
  for _, options in pairs(asked) do
    uses.pending = uses.pending or not (options and options.group) or options.unique_replace
    if options then
      local replaces, after, batch = options.unique_replace, options.after, options.batch
      uses.scheduled = uses.scheduled or options.run_at_ms or options.delay_ms or after or replaces or options.request
      uses.prioritized = uses.prioritized or options.priority or replaces or options.request
      uses.sequence = uses.sequence or options.priority or options.group
      uses.other_groups = uses.other_groups or replaces or options.group_limits or options.run_at_ms or options.delay_ms or after
      uses.unique, uses.awaiting = uses.unique or options.unique, uses.awaiting or after
      if batch and string.find(batch, '\t', 1, true) then
        uses.remote_members = true
      elseif batch then
        of_batches[batch_record .. batch] = true
      end
      name_group(options.group)
      name_group(group_of_owner(options))
    end
  end
  return uses, names, of_batches
end
