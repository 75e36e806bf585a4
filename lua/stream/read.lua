#!lua flags=no-writes,allow-oom
-- Returns the state of a job, and entries of its stream.
-- KEYS[1] job     prefix of the job hashes
-- KEYS[2] stream  prefix of the streams of jobs
-- ARGV[1] id
-- ARGV[2] the number of the first entry, such as 7
-- ARGV[3] the most entries behind that one
-- ARGV[4] the most bytes of these; the first of them comes in any case
-- Returns nil for an unknown job. Else its status, the id of the last entry ('' before the first), 1 if more entries
--   follow, then for each entry: id, the attempt and the kind, its JSON. Skips entries that no script has written. A
--   number comes once. So a page goes on behind its last entry, whatever other programs have added.
-- Repeated: the same.
local job, stream = unpack(KEYS)
local id, start, most, most_bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local first, before = start, nil

-- Returns the number of an entry that a script may have written. Any client of Redis can add others.
local function own_number(entry)
  local field, value, other = unpack(entry[2])
  local number, ms = string.match(entry[1], '^([1-9]%d*)%-(%d+)$')
  local is_own = number and value and not other and #number <= 15 and #ms <= 15 and #field <= 16 and string.find(field, '^[1-9]%d*[jbar]$')
  return is_own and number ~= before and number
end

local found = redis.pcall('HMGET', job .. id, 'status', 'stream')
if found.err or not found[1] then
  return nil
end
local reply = { found[1], string.match(found[2] or '', '^%d+ %d+ (%d+%-%d+) ') or '', 0 }
if reply[2] == '' then
  return reply -- a stream of an earlier job with this id may be left
end
local count, bytes = 0, 0
while true do
  local entries = redis.pcall('XRANGE', stream .. id, start, reply[2], 'COUNT', 16)
  for _, entry in ipairs(entries) do
    local number = own_number(entry)
    if number then
      if count == most or count > 0 and bytes >= most_bytes then
        reply[3] = 1 -- only behind an entry of this page, so that the next page goes on
        return reply
      end
      if number ~= first then -- a reader has had that one
        count, bytes = count + 1, bytes + #entry[2][2]
      end
      before = number
      reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = entry[1], entry[2][1], entry[2][2]
    end
    start = '(' .. entry[1]
  end
  if #entries < 16 then
    return reply
  end
end
