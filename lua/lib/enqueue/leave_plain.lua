-- unmarked(options): returns the stored options of a job without the mark at their start. A job whose only option is
--   metadata has the mark of a plain one. It costs a claim and a completion no more than a job without options. If its
--   only option is a group, the mark is a space.
-- leave_plain(key): makes a job no longer plain. Its next claim checks it, and its completion reads all fields.
local function unmarked(options)
  if string.sub(options, 1, 1) == ' ' then
    return string.sub(options, 2)
  end
  return string.sub(options, 1, 14) == '{"plain":true,' and '{' .. string.sub(options, 15) or options
end

local function leave_plain(key)
  if redis.call('HSETNX', key, 'options', '{}') == 0 then
    local options = redis.call('HGET', key, 'options')
    local rest = unmarked(options)
    if rest ~= options then
      redis.call('HSET', key, 'options', rest)
    end
  end
end
