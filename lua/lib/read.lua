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

-- counted(value): a counter field plus one, also where it holds nonsense.
local function counted(value)
  return string.format('%d', (tonumber(value) or 0) + 1)
end
