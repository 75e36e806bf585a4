-- Returns whether Redis allows this user a command of the directed wake, on the channels of workers. A statement, only
-- for a Cluster.
-- Needs: command, events.
local channel = string.sub(events, 1, -7) .. 'wake:'
if command == 'spublish' then
  return redis.acl_check_cmd(command, channel, '')
elseif command == 'ssubscribe' then
  return redis.acl_check_cmd(command, channel)
elseif command == 'pubsub|shardnumsub' then
  return redis.acl_check_cmd('pubsub', 'shardnumsub', channel)
end
