-- Tells the claimer what the next job costs, in place of the wait. That is the first one that its permits did not pay, or the
-- next one of a line. So its next permits pay enough. A claimer of some names may not handle that one. A claim whose bytes were
-- used up says that instead.
-- Needs: full, ids, more, names, pending, prioritized, reply, lib/permits/units.
if not (short or names) and #ids > 0 and more then
  local next_id = redis.call('ZRANGE', prioritized, 0, 0)[1] or redis.call('LINDEX', pending, -1)
  short = next_id and costs_of(next_id)
end
reply[2] = short and not full and cjson.encode(short) or reply[2]
