-- Leaves the plain jobs in the line for which the permits of a claim have no units.
-- Needs: ids, more, lib/permits/units.
ids, more = within_units(ids, more)
