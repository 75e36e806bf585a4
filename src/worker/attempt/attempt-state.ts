/**
 * Where an attempt is in its worker:
 *
 * | phase | it has | next |
 * |---|---|---|
 * | `waiting` | a claim | `starting`, or `gone` if its end comes first |
 * | `starting` | a slot; Redis may still be asked about its claim | `running`, or `gone` |
 * | `running` | a slot and a running handler | `gone` |
 * | `gone` | nothing here; its settlement may be in flight | |
 */
type Phase = 'waiting' | 'starting' | 'running' | 'gone';

/** The state of an attempt: its phase, and whether its end is decided. Only the attempt itself changes it. */
export class AttemptState {
  private phase: Phase = 'waiting';
  private decided = false;
  private called: number | undefined;

  /** True from its slot to its departure. */
  get hasSlot(): boolean {
    return this.phase === 'starting' || this.phase === 'running';
  }

  /** True if its handler was called and has not ended. */
  get isRunning(): boolean {
    return this.phase === 'running';
  }

  /** The time of the handler's call, by the monotonic clock; undefined before. */
  get calledAtMs(): number | undefined {
    return this.called;
  }

  /** True once the end is decided. The handler may still run. */
  get isEnded(): boolean {
    return this.decided;
  }

  takeSlot(): void {
    this.phase = 'starting';
  }

  call(nowMs: number): void {
    this.phase = 'running';
    this.called = nowMs;
  }

  leave(): void {
    this.phase = 'gone';
  }

  /** Decides the end. Returns false if it was decided before. */
  decide(): boolean {
    const isFirst = !this.decided;
    this.decided = true;
    return isFirst;
  }
}
