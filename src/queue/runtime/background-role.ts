/** Work that a process repeats in the background, beside its jobs. */
export interface BackgroundRole {
  start(): void | Promise<void>;
  /** Ends the repetition. Resolves when no run is in progress, where it returns a promise. */
  stop(): void | Promise<void>;
  /** Does the work once, now. */
  runOnce(): unknown;
}
