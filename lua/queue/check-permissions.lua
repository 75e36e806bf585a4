#!lua flags=no-writes,allow-oom
-- Returns the missing permissions of this Redis user, for all commands of the scripts. It runs before the first job,
-- because a refused command in the middle of a script leaves half of its writes.
-- KEYS[1] job     prefix of the job hashes, for all keys of the queue
-- KEYS[2] events  channel
-- ARGV[1..] the commands that scripts call, in lower case
-- Returns the refused ones. Repeated: the same.
local job, events = KEYS[1], KEYS[2]
local refused = {}
for _, command in ipairs(ARGV) do
  local allowed
  if command == 'publish' then
    allowed = redis.acl_check_cmd(command, events, '')
  elseif command == 'pubsub' then
    allowed = redis.acl_check_cmd(command, 'numsub', events) and redis.acl_check_cmd(command, 'numpat')
  elseif command == 'time' then
    allowed = redis.acl_check_cmd(command)
  else
    allowed = redis.acl_check_cmd(command, job)
  end
  if not allowed then
    refused[#refused + 1] = command
  end
end
return refused
