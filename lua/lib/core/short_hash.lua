-- short_hash(key, most): returns the hash of a job without the fields of LONG_FIELDS that have more than `most` bytes. A
-- field `left_out:{field}` then has the length. With nil it returns all of it. Returns an error, which has no entries, if the
-- key is no hash.
local LONG_FIELDS = { 'payload', 'result', 'progress', 'log', 'steps', 'signals' }

local function short_hash(key, most)
  if not most then
    return redis.pcall('HGETALL', key)
  end
  local lengths, is_long = {}, false
  for _, field in ipairs(LONG_FIELDS) do
    local length = redis.pcall('HSTRLEN', key, field)
    lengths[field] = type(length) == 'number' and length > most and length or nil
    is_long = is_long or lengths[field] ~= nil
  end
  if not is_long then
    return redis.pcall('HGETALL', key)
  end
  local hash = {}
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local length = lengths[field]
    hash[#hash + 1] = length and 'left_out:' .. field or field
    hash[#hash + 1] = length and string.format('%d', length) or redis.call('HGET', key, field)
  end
  return hash
end
