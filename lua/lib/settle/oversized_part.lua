-- Finds out whether a part of the job has more bytes than any that an enqueue takes, and cuts it. giant is then its number of
--   bytes, and part says which it is. It is not a function, because a function would bind its outside variables.
-- Needs: lib/settle/claim_ids.
if status == 'oversized' then
  part, giant = 'id', redis.call('HGET', key, 'oversized') or '0'
elseif name and #name > 1024 then
  part, giant, name = 'name', #name .. ' ' .. string.sub(name, 1, 60), string.sub(name, 1, 100)
  redis.call('HSET', key, 'name', name)
elseif options and #options > 262144 then
  part, giant, options = 'options', #options .. ' ', '{}'
  redis.call('HSET', key, 'options', options)
end
if part then
  payload = false
end
