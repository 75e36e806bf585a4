-- the_filler: the member of claims that is no job, see lib/settle/claim_ids. In the sets of groups it is no group, see
--   lib/group/padding. An append-only file that ends within a script may leave it.
-- is_filler(id): returns whether an id or a name is the filler. All others are shorter.
local the_filler = string.rep('-', 257)

local function is_filler(id)
  return id == the_filler
end
