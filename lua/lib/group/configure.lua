-- The limits in a producer's code for single groups. They come with the jobs. A group without jobs forgets them after a
--   day, see lib/group/gate. Limits set at run time override them.
-- configure_group(name, text, due, is_stored): stores them if they differ.
-- text: JSON of the settings, in the order of lua/group/set.lua, or '' for none. due: when the job may start in ms, or
--   nil. is_stored: true for a job of a schedule or a follow-up. Its text may be old, so the text of an enqueue
--   overrides it.
-- hold_configured_settings(name): applies them.
-- Needs: groups, lib/core/clock, lib/group/place, lib/group/state, lib/limits/write_group.
local configuration_ms = 86400000
local configured_groups = {}

local function hold_configured_settings(name)
  local text = redis.call('HGET', groups .. 'state:' .. name, 'configured')
  local values = text and cjson.decode(text) or {}
  write_group_settings(groups .. 'state:' .. name, { values[1], values[2], values[3], values[4], values[5], values[6], values[7], '',
    values[8] })
end

local function configure_group(name, text, due, is_stored)
  local state, kept_from_now = groups .. 'state:' .. name, math.max(now, due or 0) + configuration_ms
  if configured_groups[name] == text and not due then
    return
  end
  configured_groups[name] = text
  local before, kept_until, is_set, was_stored = unpack(redis.call('HMGET', state, 'configured', 'configured_until_ms', 'limits_set',
    'configured_stored'))
  if is_stored and before and not was_stored then
    text = before -- kept as long as its jobs come
  end
  before = before or ''
  if text == '' then
    redis.call('HDEL', state, 'configured', 'configured_until_ms', 'configured_stored')
  elseif text ~= before or was_stored and not is_stored or tonumber(kept_until or nil) < kept_from_now - configuration_ms / 2 then
    local kept = string.format('%.0f', math.max(kept_from_now, tonumber(kept_until or nil) or 0))
    mark_state(name)
    redis.call('HSET', state, 'configured', text, 'configured_until_ms', kept)
    redis.call('ZADD', groups .. 'resting', 'GT', kept, name)
    if is_stored and (was_stored or before == '') then
      redis.call('HSET', state, 'configured_stored', '1')
    elseif was_stored then
      redis.call('HDEL', state, 'configured_stored')
    end
  end
  if text ~= before and not is_set then
    hold_configured_settings(name)
    touch(name)
  end
end
