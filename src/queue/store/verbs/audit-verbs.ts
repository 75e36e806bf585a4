import type { AuditEntry } from '../../model/audit.js';
import type { StoreCall } from '../store-call.js';

/** Who reads the trail together with others: each entry goes to one consumer of a group. */
export interface AuditReader {
  group: string;
  consumer: string;
}

/** The audit trail. */
export interface AuditVerbs {
  /** @param after the `entryId` of the entry after which to go on; '' for the first */
  read(after: string, limit: number): StoreCall<AuditEntry[]>;
  /** Newest first. */
  latest(limit: number): StoreCall<AuditEntry[]>;
  /** First those that another consumer took longer than `idleMs` ago and did not acknowledge, then new ones. */
  take(reader: AuditReader, limit: number, idleMs: number): StoreCall<AuditEntry[]>;
  /** Returns how many were the group's to acknowledge. */
  acknowledge(group: string, entryIds: readonly string[]): StoreCall<number>;
  /** Returns whether there was a trail. */
  clear(): StoreCall<boolean>;
}
