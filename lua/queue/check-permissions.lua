#!lua flags=no-writes,allow-oom
-- Returns the missing permissions of this Redis user, for all commands of the scripts. It runs before the first job,
-- because a refused command in the middle of a script leaves half of its writes.
-- KEYS[1..] for each queue: job, the prefix of the job hashes, for all keys of the queue; and events, its channel
-- ARGV[1..] the commands that scripts call, in lower case
-- Returns for each refused command of a queue: the number of the queue, from 1, and the command. Repeated: the same.
local queues = KEYS

local function is_allowed(command, job, events)
--@cluster lib/waiters/permission
  if command == 'publish' then
    return redis.acl_check_cmd(command, events, '')
  elseif command == 'pubsub' then
    return redis.acl_check_cmd(command, 'numsub', events) and redis.acl_check_cmd(command, 'numpat')
  elseif command == 'time' then
    return redis.acl_check_cmd(command)
  end
  return redis.acl_check_cmd(command, job)
end

if not redis.acl_check_cmd then
  return {} -- a server that the operator allowed all the same
end
local refused = {}
for i = 1, #queues, 2 do
  for _, command in ipairs(ARGV) do
    if not is_allowed(command, queues[i], queues[i + 1]) then
      refused[#refused + 1] = { (i + 1) / 2, command }
    end
  end
end
return refused
