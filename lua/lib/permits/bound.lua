-- Binds both ways to take a job to the units of the permits. Jobs without a group are cut. A group whose head does not fit is
-- passed over, and keeps its turn.
-- Needs: lib/permits/units, lib/turn/claim_others.
local take_any, can_serve = take_ungrouped, can_take
take_ungrouped = function(most)
  return within_units(take_any(most))
end
can_take = function(id)
  return (not can_serve or can_serve(id)) and fits(id)
end
