import type { Refusal, UnhandledRefusal } from '../../queue/store/claim-refusal.js';

/** The verdict of a claim on a job: how it may run, or why it must not. `isolated`: alone. */
export type Verdict = 'run' | 'expires' | 'isolated' | Refusal | UnhandledRefusal;

/** The last claim of a claimer. */
export interface ClaimBatch {
  token: string;
  claims: { id: string; verdict: Verdict }[];
  /** Until when a repeat gets the same jobs, in ms. */
  keptUntil: number;
}
