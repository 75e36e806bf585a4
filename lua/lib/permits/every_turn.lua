-- Lets a claim take groups turn by turn, as one that finds a due job. The way for groups with a single slot asks for no units.
-- Needs: lib/place/claim_waiting.
is_due = true
