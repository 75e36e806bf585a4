-- no_group: a member that no group can have as its name, which has at most 256 characters. Redis keeps a small set or
--   hash as a list, and each change walks through it. A member of more than 64 bytes turns it into a tree or a table.
--   lib/group/ends has the same member for the scripts that place groups.
local no_group = string.rep('-', 257)
