-- retention_of(name): what the handler of a name keeps of its jobs, as the workers announced it: caps by state (completed,
-- cancelled, failed), dead_age and by state the life in ms, each absent where the queue's holds, and its name as JSON; nil where the
-- queue's hold for all. read_retention(text): the same of an announcement.
-- The last number stands there only where it was given: versions that do not know it can read none that has it.
-- Needs: retention.
local retention_by_name = {}

local function read_retention(text)
  local completed_cap, cancelled_cap, dead_cap, dead_age, life, cancelled_life, json =
    string.match(text or '', '^(%d*):(%d*):(%d*):(%d*):(%d*):?(%d*) (".*")$')
  return json and {
    completed = tonumber(completed_cap), cancelled = tonumber(cancelled_cap), failed = tonumber(dead_cap),
    dead_age = tonumber(dead_age), json = json,
    life = { completed = tonumber(life), cancelled = tonumber(cancelled_life) or tonumber(life) },
  }
end

local function retention_of(name)
  if name and retention_by_name[name] == nil then
    retention_by_name[name] = read_retention(redis.call('HGET', retention, name)) or false
  end
  return name and retention_by_name[name] or nil
end
