-- read_batch(id): returns the number of a batch's open members, and the fields that lua/batch/status lists. nil for an
--   unknown batch.
-- Needs: lib/core/keys.
--@include lib/batch/outbox_place
local function read_batch(id)
  local key = batch_record .. id
  local fields = redis.call('HMGET', key, 'created_at_ms', 'sealed_at_ms', 'stopped_at_ms', 'fired_at_ms', 'ended_at_ms',
    'total', 'completed', 'failed', 'cancelled', 'removed')
  if not fields[1] then
    return nil
  end
  local reply = { fields[4] and 0 or redis.call('ZCARD', key .. '/open'), unpack(fields, 1, 10) }
  for _, kind in ipairs({ 'then', 'on_failure', 'finally' }) do
    local name, elsewhere = unpack(redis.call('HMGET', key, kind .. '_name', kind .. '_elsewhere'))
    reply[#reply + 1] = name and (elsewhere or '')
    reply[#reply + 1] = elsewhere and redis.call('HEXISTS', batch_outbox, outbox_place(id, elsewhere)) or 0
  end
  return reply
end
