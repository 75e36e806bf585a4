-- most_rates: the most rates of a limit, as MOST_RATES of src/queue/validation/key-table.ts.
local most_rates = 8
