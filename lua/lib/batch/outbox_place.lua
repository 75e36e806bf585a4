-- outbox_place(batch, member): returns the field of the outbox for a follow-up of another queue. member: that queue, a tab
--   and its id.
local function outbox_place(batch, member)
  local tab = string.find(member, '\t', 1, true)
  return string.sub(member, 1, tab) .. batch .. string.sub(member, tab)
end
