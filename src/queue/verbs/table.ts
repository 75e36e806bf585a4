// The table of verbs. The scripts of jobs, attempts and the queue are calls of a queue itself. Each other folder of lua is a
// room.
import { ACTION_LOG } from './action.js';
import { ALERTS } from './alert.js';
import { ATTEMPT } from './attempt.js';
import { AUDIT } from './audit.js';
import { BATCHES } from './batch.js';
import { DEAD_LETTERS } from './dead-letter.js';
import { DOCTOR } from './doctor.js';
import { GROUPS } from './group.js';
import { HISTORY } from './history.js';
import { JOB } from './job.js';
import { LIMITS } from './limits.js';
import { ONCE } from './once.js';
import { PROFILES } from './profile.js';
import { QUEUE } from './queue.js';
import { SCHEDULES } from './schedule.js';
import { SHARED_LIMITS } from './shared-limit.js';
import { STREAMS } from './stream.js';
import { SWEEP } from './sweep.js';
import { TOPICS } from './topic.js';
import { WORKERS } from './worker.js';

export const VERBS = {
  ...JOB,
  ...ATTEMPT,
  ...QUEUE,
  sweep: SWEEP,
  workers: WORKERS,
  limits: LIMITS,
  sharedLimits: SHARED_LIMITS,
  deadLetters: DEAD_LETTERS,
  schedules: SCHEDULES,
  batches: BATCHES,
  groups: GROUPS,
  streams: STREAMS,
  topics: TOPICS,
  profiles: PROFILES,
  once: ONCE,
  history: HISTORY,
  audit: AUDIT,
  actions: ACTION_LOG,
  alerts: ALERTS,
  doctor: DOCTOR,
};
