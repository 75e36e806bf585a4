#!lua flags=no-writes,allow-oom
-- Tells what the Redis user of this connection may not do of all that the scripts do, so that it is known before the
-- first job: a command that is refused in the middle of a script leaves half of it done.
-- KEYS[1] job     prefix of the job hashes; stands for all keys of the queue
-- KEYS[2] events  channel
-- ARGV[1..] the commands that scripts call, in lower case
-- Returns those that are refused. Repeated: the same.
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
