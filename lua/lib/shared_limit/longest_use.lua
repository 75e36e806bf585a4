-- longest_use_ms: how long a queue counts as one that uses a limit, after its last worker declared it. Later its live
--   workers say so.
local longest_use_ms = 2592000000
