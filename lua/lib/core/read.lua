-- read(key, ...): fields of a job's hash. A key that holds something else than a hash is of no use to anybody and
-- would stop the script halfway, with the rest of the batch in no place: it is deleted and reads as missing.
local function read(key, ...)
  local values = redis.pcall('HMGET', key, ...)
  if values.err then
    redis.call('UNLINK', key)
    values = redis.call('HMGET', key, ...)
  end
  return values
end
