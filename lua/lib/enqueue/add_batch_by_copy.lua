-- Adds many plain jobs of one name, as far as they are new. What they share is written once and copied, which tells by
-- itself of a key that exists: of a hundred with short payloads each costs a fifth less than to write all of its fields.
-- A user who may not copy, as it was before this needed it, has each written in full.
-- No function, since that would bind what it needs: job, now_text, write_job, plain, name, at, last.
local model, model_at
for i = at + 2, last, 2 do
  local id = ARGV[i]
  local key = job .. id
  local copied = model and key ~= model and redis.pcall('COPY', model, key)
  if copied == 1 then
    redis.call('HSET', key, 'id', id, 'payload', ARGV[i + 1])
    plain[#plain + 1] = id
  elseif copied ~= 0 and key ~= model and redis.call('EXISTS', key) == 0 then
    if model then
      write_job(id, name, ARGV[i + 1])
    else
      model, model_at = key, i
      redis.call('HSET', key, 'name', name, 'status', 'pending', 'attempts', '0', 'enqueued_at_ms', now_text,
        'claim_token', '')
    end
    plain[#plain + 1] = id
  end
end
if model then
  redis.call('HSET', model, 'id', ARGV[model_at], 'payload', ARGV[model_at + 1])
end
