-- How scores of many groups are written cheaply.
-- padding: a member that no group can have as its name, which has at most 256 characters. Redis keeps a small set or
--   hash as a list, and each change walks through it. A member of more than 64 bytes turns it into a tree or a table. So
--   a script writes this member before many others, and removes it again.
-- score_text(score): returns a score as text, because a whole number is cheaper to write.
local padding = string.rep('-', 257)

local function score_text(score)
  return string.format(score % 1 == 0 and score < 1e15 and '%d' or '%.17g', score)
end
