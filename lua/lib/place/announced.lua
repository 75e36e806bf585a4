-- announced_of(name): returns when a worker last announced a handler of this name, or of every name, in ms. 0: never.
-- serves_any(name): returns whether a handler of every name takes a job of this one. Failure jobs have handlers of their own.
-- Needs: names.
local function serves_any(name)
  return string.sub(name, 1, 8) ~= '@failed:'
end

local function announced_of(name)
  local own, any = unpack(redis.call('ZMSCORE', names, name, '*'))
  return math.max(tonumber(own or 0), serves_any(name) and tonumber(any or 0) or 0)
end
