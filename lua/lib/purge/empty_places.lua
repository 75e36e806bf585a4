-- empty_list(list), empty_set(set): take ids out of a place and delete their jobs, until `limit` ids were looked at.
--   They count the ids in `looked`, and the deleted hashes in `deleted`. empty_streams() does the same with streams.
-- Needs: deleted, limit, looked, lib/core/keys, lib/group/slot.
--@include lib/kind/change_kind
--@include lib/stream/forget
local has_groups = redis.call('HEXISTS', settings, 'has_groups') == 1

-- Ends a job's slot and hold in the same step as the job, so that an interrupted purge leaves neither.
local function leave_group(id)
  local group = redis.pcall('HGET', job .. id, 'group')
  end_hold_of(id)
  if type(group) == 'string' then
    free_slot(group, id)
  end
end

-- Deletes jobs, and counts only deleted hashes. A dead letter is in two places, and an id in a history may have no
-- hash.
local function delete(ids, step)
  for i = 1, #ids, step do
    if has_groups then
      leave_group(ids[i])
    end
    change_kind(ids[i])
    deleted = deleted + redis.call('UNLINK', job .. ids[i])
    looked = looked + 1
  end
end

-- Deletes the streams of jobs, also of those whose hashes are gone.
local function empty_streams()
  if looked < limit then
    local ids = redis.call('ZPOPMIN', streams, limit - looked)
    for i = 1, #ids, 2 do
      redis.call('UNLINK', stream .. ids[i])
      looked = looked + 1
    end
  end
end

local function empty_list(list)
  if looked < limit then
    delete(redis.call('RPOP', list, limit - looked) or {}, 1)
  end
end

local function empty_set(set)
  if looked < limit then
    delete(redis.call('ZPOPMIN', set, limit - looked), 2)
  end
end
