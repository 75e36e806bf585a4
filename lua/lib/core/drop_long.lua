-- drop_long(key): removes each field of a hash of settings whose value is longer than any that this library writes. Each claim
--   would read it.
local function drop_long(key)
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if redis.call('HSTRLEN', key, field) > 65536 then
      redis.call('HDEL', key, field)
    end
  end
end
