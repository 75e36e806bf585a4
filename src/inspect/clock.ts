/** Shifts after which a clock that is set back shows the same time again, in ms. */
const SHIFTS = [1_800_000, 3_600_000, 7_200_000].flatMap((shift) => [-shift, shift]);

const MOST_KNOWN = 100;
const known = new Map<string | undefined, ZoneFormat>();

interface ZoneFormat {
  format: Intl.DateTimeFormat;
  /** True if the zone is not known here: then the clock is that of UTC. */
  isUnknown: boolean;
}

/**
 * Returns an instant on the 24-hour clock of a time zone: `Sat 28 Nov 2026, 03:00`. A time that the clock shows twice
 * has its offset: `Sun 25 Oct 2026, 02:30 GMT+2`. If the zone is not known here, it is `Sat 28 Nov 2026, 02:00 UTC`.
 *
 * @param timeZone undefined: that of this process
 * @param nowMs leaves out the year of this instant
 */
export function onClock(atMs: number, timeZone: string | undefined, nowMs?: number): string {
  const { format, isUnknown } = formatOf(timeZone);
  const at = partsOf(format, atMs);
  const isThisYear = nowMs !== undefined && at.year === partsOf(format, nowMs).year;
  const isTwice = SHIFTS.some((shift) => isSameTime(at, partsOf(format, atMs + shift)));
  const seconds = at.second === '00' ? '' : `:${at.second}`;
  const zone = isUnknown ? ' UTC' : isTwice ? ` ${at.timeZoneName}` : '';
  return `${at.weekday} ${at.day} ${at.month}${isThisYear ? '' : ` ${at.year}`}, ${at.hour}:${at.minute}${seconds}${zone}`;
}

type Parts = Partial<Record<Intl.DateTimeFormatPartTypes, string>>;

function partsOf(format: Intl.DateTimeFormat, atMs: number): Parts {
  return Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
}

function isSameTime(a: Parts, b: Parts): boolean {
  return a.day === b.day && a.hour === b.hour && a.minute === b.minute;
}

function formatOf(timeZone: string | undefined): ZoneFormat {
  const found = known.get(timeZone) ?? newFormat(timeZone);
  if (known.size >= MOST_KNOWN) {
    known.clear();
  }
  known.set(timeZone, found);
  return found;
}

function newFormat(timeZone: string | undefined): ZoneFormat {
  const shown = {
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'shortOffset',
  } as const;
  try {
    return { format: new Intl.DateTimeFormat('en-GB', { ...shown, timeZone }), isUnknown: false };
  } catch {
    return { format: new Intl.DateTimeFormat('en-GB', { ...shown, timeZone: 'UTC' }), isUnknown: true };
  }
}
