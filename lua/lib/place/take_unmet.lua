-- take_unmet(id, group): takes a due job that must not run for this claim, beside all limits, since it is only refused. Returns
-- false where its payload goes beyond the bytes of a claim; then a later claim takes it.
-- unmet_ids: these ids. Needs: job, groups, now_text, most_bytes, touch_group.
local unmet_ids, unmet_bytes = {}, 0

local function take_unmet(id, group)
  local bytes = tonumber(redis.pcall('HSTRLEN', job .. id, 'payload')) or 0
  if #unmet_ids > 0 and unmet_bytes + bytes > most_bytes then
    return false
  end
  unmet_ids[#unmet_ids + 1], unmet_bytes = id, unmet_bytes + bytes
  if group then
    redis.call('ZADD', groups .. 'running:' .. group, now_text, id)
    touch_group(group)
  end
  return true
end
