/**
 * Returns an instant on the 24-hour clock of a time zone: `Sat 28 Nov 2026, 03:00`.
 *
 * @param timeZone undefined: that of this process
 * @param nowMs leaves out the year of this instant
 */
export function onClock(atMs: number, timeZone: string | undefined, nowMs?: number): string {
  const at = partsAt(atMs, timeZone);
  const isThisYear = nowMs !== undefined && at.year === partsAt(nowMs, timeZone).year;
  const seconds = at.second === '00' ? '' : `:${at.second}`;
  return `${at.weekday} ${at.day} ${at.month}${isThisYear ? '' : ` ${at.year}`}, ${at.hour}:${at.minute}${seconds}`;
}

function partsAt(atMs: number, timeZone: string | undefined): Record<string, string> {
  const parts = formatOf(timeZone).formatToParts(atMs);
  return Object.fromEntries(parts.map(({ type, value }) => [type, value]));
}

function formatOf(timeZone: string | undefined): Intl.DateTimeFormat {
  const shown = {
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  } as const;
  try {
    return new Intl.DateTimeFormat('en-GB', { ...shown, timeZone });
  } catch {
    return new Intl.DateTimeFormat('en-GB', { ...shown, timeZone: 'UTC' }); // a zone that is not known here
  }
}
