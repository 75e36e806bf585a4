// Faults that trust an instant which the clock of now cannot have made.
import { edit, plant, type Plant } from './plant.js';

export const clockPlants: Record<string, Plant> = {
  'a claim of a clock that was ahead stays': plant(
    'I7',
    'clock',
    edit('sweepReclaim', 'bring_back(claims, latest, now + wait, limit)', ''),
  ),
  'a rate of a clock that was ahead stays': plant(
    'I7',
    'clock',
    edit('*', 'if us > now_us + rate.burst * period * 1000 / (limit - most) + 1 then', 'if false then'),
  ),
  'a due time of a clock that was ahead stays': plant(
    'tick',
    ['clock', 'schedules'],
    edit('scheduleTick', 'if is_current and next_due > now and next_due < due then', 'if false then'),
  ),
};
