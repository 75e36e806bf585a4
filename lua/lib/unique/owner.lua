-- Unique keys. Each has an owner, the id of a job. It holds the key until it is claimed (pending), until it
--   ends (unfinished), or for a time. Its options decide that, or those of a job that replaced it. For the first two
--   the option is in its hash (unique, unique_for). The end of a time is in unique_expiries, because it outlives the
--   hash.
-- resolve_unique(options): returns nil if the key is free; else 'kept' or 'replace', the owner's id and its name.
-- own_unique(id, options): makes the job the owner.
-- Needs: job, unique, unique_expiries, lib/core/clock.
--@include lib/unique/longest_window
local function resolve_unique(options)
  local owner = redis.call('HGET', unique, options.unique)
  if not owner then
    return nil
  end
  local status, key, kind, window, window_ms, name = unpack(redis.call('HMGET', job .. owner,
    'status', 'unique', 'unique_for', 'window', 'window_ms', 'name'))
  local waiting = (status == 'pending' or status == 'scheduled') and (key == options.unique or window == options.unique)
  local held_until = tonumber(redis.call('ZSCORE', unique_expiries, options.unique) or nil)
  local is_held
  if held_until then
    -- However the job ended, and after its hash has gone. But no longer than the clock of now can have made it.
    is_held = held_until > now and held_until <= now + (window == options.unique and tonumber(window_ms or nil) or longest_window())
  else
    is_held = key == options.unique and (waiting or status == 'processing' and kind ~= 'pending')
  end
  if not is_held then
    return nil
  end
  return options.unique_replace and waiting and 'replace' or 'kept', owner, name
end

local function own_unique(id, options)
  if options.unique then
    redis.call('HSET', unique, options.unique, id)
    if type(options.unique_for) == 'number' then
      redis.call('ZADD', unique_expiries, now + options.unique_for, options.unique)
      note_window(options.unique_for)
    else
      redis.call('ZREM', unique_expiries, options.unique) -- the time of an owner before it
    end
  end
end
