// The faults themselves. Each resolves with the number of its hits (see hits.ts) once the broken part works again. Only
// the queue has yet to recover.
import { breakHashes, misplace, plant } from './damage.js';
import { deployEarlier } from './deploys.js';
import {
  freezeUnderSentinel,
  killInCluster,
  killUnderSentinel,
  moveSlot,
  switchInCluster,
  switchUnderSentinel,
} from './failovers.js';
import {
  cutHubs,
  cutLines,
  killClients,
  leaveLinesHalfOpen,
  limitBandwidth,
  loseReplies,
  slowLines,
} from './line-faults.js';
import type { FaultKind } from '../plan.js';
import {
  blockWorker,
  freezeWorker,
  killProducer,
  killWorker,
  restartWorkers,
  setClockOff,
} from './process-faults.js';
import type { Fault } from './scene.js';
import { fillMemory, flushScripts, freezeServer, killServer, makeReplica } from './server-faults.js';

export const FAULTS: Record<FaultKind, Fault> = {
  kill: killWorker,
  freeze: freezeWorker,
  block: blockWorker,
  'kill-producer': killProducer,
  'rolling-restart': restartWorkers,
  'earlier-version': deployEarlier,
  'clock-off': setClockOff,
  cut: cutLines,
  'half-open': leaveLinesHalfOpen,
  slow: slowLines,
  bandwidth: limitBandwidth,
  'lost-replies': loseReplies,
  'client-kill': killClients,
  'delete-hash': (scene, planned) => plant(scene, planned, 'deleted', "redis.call('UNLINK', KEYS[1])"),
  'break-hash': breakHashes,
  misplace,
  'script-flush': flushScripts,
  'redis-kill': killServer,
  'redis-freeze': freezeServer,
  'out-of-memory': fillMemory,
  readonly: makeReplica,
  'sentinel-kill': killUnderSentinel,
  'sentinel-freeze': freezeUnderSentinel,
  'sentinel-switch': switchUnderSentinel,
  'cluster-kill': killInCluster,
  'cluster-switch': switchInCluster,
  'slot-move': moveSlot,
  'hub-cut': cutHubs,
};
