-- Uses units for the first job of a group, once the claim has taken it.
-- Needs: lib/permits/units, lib/turn/take_head.
use_units(id)
