-- mark_of(id): returns the mark of an id that a caller gave to a job, in ended_ids. It is the id, or a tab
--   and the hash of a longer one. No id has a tab. So a mark has at most 44 bytes, and takes at most 150 bytes of memory.
local function mark_of(id)
  return #id <= 44 and id or '\t' .. redis.sha1hex(id)
end
