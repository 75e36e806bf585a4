#!lua flags=no-writes,allow-oom
-- Reads which newer jobs asked running jobs to stop.
-- KEYS[1] job prefix of the job hashes
-- ARGV, for each: id
-- Returns, for each: the id of the newer job, or '' for any other cancel. Repeated: reads again.
local job = KEYS[1]
local newer = {}
for i = 1, #ARGV do
  local by = redis.pcall('HGET', job .. ARGV[i], 'superseded_by')
  newer[i] = type(by) == 'string' and by or ''
end
return newer
