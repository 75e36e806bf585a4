-- add_to_history(list, ids, cap): adds ids to a capped history, newest first.
--@include lib/retention/cut_history
local function add_to_history(list, ids, cap)
  if #ids > 0 then
    cut_history(list, redis.call('LPUSH', list, unpack(ids)), #ids, cap)
  end
end
