#!lua flags=no-writes,allow-oom
-- Finds keys of a wrong type, which another program wrote or a dump restored.
-- KEYS[1..] the keys to check
-- ARGV[1..] the expected type of each key, in the words of TYPE
-- Returns for each key of a wrong type: its index (from 1), its type. Repeated: reads again.
local reply = {}
for i, key in ipairs(KEYS) do
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= ARGV[i] then
    reply[#reply + 1], reply[#reply + 2] = i, found
  end
end
return reply
