-- forget_work(key): deletes what a job has stored by its payload: its checkpoint, its steps, its waits and its signals.
local function forget_work(key)
  redis.call('HDEL', key, 'checkpoint', 'steps', 'waits', 'signals', 'parked')
end
