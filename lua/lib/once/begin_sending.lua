-- Ends the script with stale if another sender of the source has a larger fence. Else notes the fence of this one. A
--   statement, so that it can return.
-- Needs: fence, once_fences, source.
local last_fence = redis.call('HGET', once_fences, source)
if last_fence and tonumber(last_fence) > tonumber(fence) then
  return { 'stale', last_fence }
end
if last_fence ~= fence then
  redis.call('HSET', once_fences, source, fence)
end
