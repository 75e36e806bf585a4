-- free_key(key): frees an expired unique key.
-- free_stale_unique(): frees the keys whose owner has ended or is gone.
-- Needs: limit, more, lib/core/keys, lib/core/read.

-- Frees a key whose window is over. A job that has taken it over since holds it until it ends.
local function free_key(key)
  local owner = redis.call('HGET', unique, key)
  if owner and read(job .. owner, 'unique')[1] ~= key then
    redis.call('HDEL', unique, key)
  end
end

-- Frees some keys of many, drawn by chance. A client of the Redis pattern ends a job without a look at its key.
local function free_stale_unique()
  local some = redis.call('HRANDFIELD', unique, limit, 'WITHVALUES')
  local freed = 0
  for i = 1, #some, 2 do
    local key, owner = some[i], some[i + 1]
    if not redis.call('ZSCORE', unique_expiries, key) then
      local status, own_key = unpack(read(job .. owner, 'status', 'unique'))
      local unfinished = status == 'pending' or status == 'scheduled' or status == 'processing'
      if not unfinished or own_key ~= key then
        freed = freed + redis.call('HDEL', unique, key)
      end
    end
  end
  more = freed == limit and 1 or more
end
