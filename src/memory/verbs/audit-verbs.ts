import { NotInMemoryError } from '../../queue/errors/not-in-memory-error.js';
import type { AuditVerbs } from '../../queue/store/verbs/audit-verbs.js';
import { callOf } from './memory-call.js';

function refuseTrail(): never {
  throw new NotInMemoryError('audit trail');
}

/** Writes no trail, so that an app with the option can be tested; reading it throws. */
export function auditVerbs(): AuditVerbs {
  return {
    read: () => callOf('auditRead', refuseTrail),
    latest: () => callOf('auditLatest', refuseTrail),
    take: () => callOf('auditTake', refuseTrail),
    acknowledge: () => callOf('auditAcknowledge', refuseTrail),
    clear: () => callOf('auditClear', refuseTrail),
  };
}
