-- Unique keys. Each names its owner, the id of a job; an owner that is terminal or gone is taken over, but for a key
-- that is held for a time.
-- resolve_unique(options): nil when the way is free; else 'kept' or 'replace' and the owner's id.
-- own_unique(id, options): makes the job the owner. Needs: job, unique, windows, now.
local function resolve_unique(options)
  local owner = redis.call('HGET', unique, options.unique)
  if not owner then
    return nil
  end
  local status = redis.call('HGET', job .. owner, 'status')
  local waiting = status == 'pending' or status == 'scheduled'
  local held_until = redis.call('ZSCORE', windows, options.unique)
  local held
  if held_until and tonumber(held_until) > now then
    held = true -- the time holds, however the job ended, and after its hash has gone
  elseif options.unique_for == 'pending' then
    held = waiting
  elseif options.unique_for == 'unfinished' then
    held = waiting or status == 'processing'
  end
  if not held then
    return nil
  end
  return options.unique_replace and waiting and 'replace' or 'kept', owner
end

local function own_unique(id, options)
  if options.unique then
    redis.call('HSET', unique, options.unique, id)
    if type(options.unique_for) == 'number' then
      redis.call('ZADD', windows, now + options.unique_for, options.unique)
    end
  end
end
