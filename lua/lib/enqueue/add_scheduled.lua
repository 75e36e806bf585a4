-- add_scheduled(id, name, payload, options, schedule_id): adds one claimable job of a schedule: nothing -> pending or
--   prioritized. Returns added | exists (the id is known) | kept (another job owns the unique key). Then the id of that
--   job, and for kept its name.
-- Needs: lib/core/keys, lib/core/write_job, lib/enqueue/options, lib/place/requeue, lib/unique/owner.
--@include lib/core/count
--@include lib/limits/write_group
--@include lib/group/configure
local function add_scheduled(id, name, payload, options_text, schedule_id)
  local key = job .. id
  if redis.call('EXISTS', key) == 1 then
    return 'exists', id
  end
  local options = options_text ~= '' and cjson.decode(options_text) or {}
  if options.unique then
    local verdict, owner, owner_name = resolve_unique(options)
    if verdict then
      return 'kept', owner, owner_name
    end
  end
  if options.group and options.group_limits then
    configure_group(options.group, options.group_limits, nil, true)
  end
  write_job(id, name, payload)
  redis.call('HSET', key, 'schedule', schedule_id)
  write_options(key, options)
  own_unique(id, options)
  to_back(id, options.priority, options.group)
  count('enqueued_total', 1)
  return 'added', id
end
