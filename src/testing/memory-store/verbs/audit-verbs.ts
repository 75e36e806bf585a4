import type { AuditVerbs } from '../../../queue/store/verbs/audit-verbs.js';
import { callOf } from './memory-call.js';

function refuseTrail(): never {
  throw new Error('A store in memory writes no audit trail; test what reads one on Redis, as by withRedis.');
}

/** What the option asks for is not written down, so that an app with it can be tested; a reading says so. */
export function auditVerbs(): AuditVerbs {
  return {
    read: () => callOf('auditRead', refuseTrail),
    latest: () => callOf('auditLatest', refuseTrail),
    take: () => callOf('auditTake', refuseTrail),
    acknowledge: () => callOf('auditAcknowledge', refuseTrail),
    clear: () => callOf('auditClear', refuseTrail),
  };
}
