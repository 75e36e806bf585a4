-- read(key, ...): returns fields of a job's hash. A key of another type is deleted and reads as missing, because it would
-- stop the script halfway.
local function read(key, ...)
  local values = redis.pcall('HMGET', key, ...)
  if values.err then
    redis.call('UNLINK', key)
    values = redis.call('HMGET', key, ...)
  end
  return values
end
