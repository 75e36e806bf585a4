// A process whose wall clock is wrong. Timers and performance.now() go on as they are, as with a wrong clock they do.

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
