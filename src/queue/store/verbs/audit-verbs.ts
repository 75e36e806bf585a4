import type { AuditEntry } from '../../model/job-event.js';
import type { StoreCall } from '../store-call.js';

/** A reader of the trail in a group: each entry goes to one consumer of the group. */
export interface AuditReader {
  group: string;
  consumer: string;
}

/** The audit trail. */
export interface AuditVerbs {
  /** @param after the `entryId` of the entry after which to continue; '' for the first */
  read(after: string, limit: number): StoreCall<AuditEntry[]>;
  /** Returns entries, newest first. */
  latest(limit: number): StoreCall<AuditEntry[]>;
  /**
   * Returns first the entries that another consumer took longer than `idleMs` ago without acknowledging them, then new
   * ones.
   */
  take(reader: AuditReader, limit: number, idleMs: number): StoreCall<AuditEntry[]>;
  /** Returns how many were the group's to acknowledge. */
  acknowledge(group: string, entryIds: readonly string[]): StoreCall<number>;
  /** Returns whether there was a trail. */
  clear(): StoreCall<boolean>;
}
