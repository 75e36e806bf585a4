// Shifts the wall clock of a process. Timers and performance.now() stay right, as with a wrong system clock.

export function shiftClock(byMs: number): void {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...given: unknown[]) {
      super(...((given.length > 0 ? given : [RealDate.now() + byMs]) as [number]));
    }

    static override now(): number {
      return RealDate.now() + byMs;
    }
  } as DateConstructor;
}
