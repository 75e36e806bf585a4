-- emit(id, status): publishes {"id","status","name"}; with publish = 'listened' only while somebody subscribes.
-- Needs: job, events, publish.
local listened = publish == 'always'
if publish == 'listened' then
  listened = redis.call('PUBSUB', 'NUMSUB', events)[2] > 0 or redis.call('PUBSUB', 'NUMPAT') > 0
end
local function emit(id, status)
  if listened then
    local name = redis.call('HGET', job .. id, 'name') or nil
    redis.call('PUBLISH', events, cjson.encode({ id = id, status = status, name = name }))
  end
end
