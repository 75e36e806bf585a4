-- note(command, key, ...): remembers which job a command changes, with its state before, in `changes` and `order`.
-- Needs: prefix, server.
local changes, order = {}, {}

-- Returns a job's change. The first access to a job in this script reads its previous state.
local function change_of(key)
  local id = string.sub(key, #prefix + 1)
  if not changes[id] then
    local before = server.pcall('HMGET', key, 'status', 'name', 'attempts', 'worker', 'failed_at_ms')
    if before.err then
      before = {}
    end
    changes[id] = { from = before[1] or '', name = before[2], attempts = before[3], worker = before[4], failed_at = before[5] }
    order[#order + 1] = id
  end
  return changes[id]
end

local function is_job(key)
  return type(key) == 'string' and string.sub(key, 1, #prefix) == prefix
end

local function note(command, key, ...)
  if command == 'HSET' and is_job(key) then
    for i = 1, select('#', ...), 2 do
      local field, value = select(i, ...)
      if field == 'status' then
        change_of(key).to = value
      end
    end
  elseif command == 'UNLINK' then
    for _, each in ipairs({ key, ... }) do
      if is_job(each) then
        local change = change_of(each)
        change.ended, change.to = change.to, '' -- one that ended in this script, and was deleted at once
      end
    end
  end
end
