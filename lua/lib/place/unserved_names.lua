-- unserved_names(live): returns JSON of the names that no live worker handles, and how long their jobs have waited; ''
--   for none. Unserved jobs gather at the front of the line, so reading the front finds them.
-- Needs: live_since, lib/core/clock, lib/place/announced, lib/place/oldest_age.
local function unserved_names(live)
  local unserved = {}
  for name, since in pairs(waiting_since) do
    if live == 0 or announced_of(name) < live_since then
      unserved[#unserved + 1] = { name = name, waiting_ms = now - since }
    end
  end
  return #unserved > 0 and cjson.encode(unserved) or ''
end
