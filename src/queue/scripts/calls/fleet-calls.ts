import { decodeLimits, type LimitsReply } from '../../replies/decode-limits.js';
import { decodeWorker } from '../../replies/decode-worker.js';
import { configuredLimits, runtimeLimitArguments, limitsText } from '../encode-worker-limits.js';
import { checkLayout, LAYOUT } from '../layout.js';
import { JobCalls, WORKER_SEEN_MS } from './job-calls.js';
import type { RuntimeLimits } from '../../model/limits.js';
import type { WorkerDetails, WorkerRecord } from '../../model/worker-record.js';
import { announcedContent, type AnnouncedContent } from '../../codec/announced-content.js';
import { parseJson } from '../../codec/parse-json.js';
import type { AttemptLimits, UnservedJobs } from '../../store/store-calls.js';
import type { LimitsInForce } from '../../store/verbs/limit-verbs.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import { call } from '../script-call.js';

/** The calls about workers and limits: one method per script, see the headers there. */
export class FleetCalls extends JobCalls {
  /** Rejects with QueueLayoutError where a newer version of the library has the queue. */
  announce(worker: string, serves: boolean, handlers: readonly AttemptLimits[] = []): ScriptCall<void> {
    const said = handlers.flatMap(({ name, maxAttempts, maxCrashes }) => [name, `${maxAttempts}:${maxCrashes}`]);
    const args = [
      worker,
      serves ? '1' : '0',
      limitsText(this.options),
      configuredLimits(this.options),
      LAYOUT,
      JSON.stringify(announcedContent(this.options)),
      ...said,
    ];
    return call('workerRegister', this.keys.standard, args, (reply) => checkLayout(this.keys.queue, reply));
  }

  content(): ScriptCall<AnnouncedContent | undefined> {
    return call('queueContent', this.keys.standard, [], (reply) => {
      const text = (reply as string | null) ?? undefined;
      return parseJson(text).value as AnnouncedContent | undefined;
    });
  }

  describeWorker(worker: string, details: WorkerDetails | undefined, ageMs: number): ScriptCall<void> {
    const keys = [this.keys.workers, this.keys.workerDetails];
    const text = details ? JSON.stringify(details) : '';
    return call('workerDescribe', keys, [worker, text, Math.round(ageMs)], () => undefined);
  }

  workers(most: number): ScriptCall<WorkerRecord[]> {
    const keys = [this.keys.workers, this.keys.workerDetails];
    return call('workerList', keys, [WORKER_SEEN_MS, most], (reply) =>
      (reply as [string, string, string][]).map(decodeWorker),
    );
  }

  /**
   * Returns the positions of the waiting jobs whose names no live worker handles. Also the number of live workers, and
   * some of their names.
   */
  unserved(jobs: readonly { id: string; name: string }[]): ScriptCall<UnservedJobs> {
    const args = [WORKER_SEEN_MS, ...jobs.flatMap(({ id, name }) => [id, name])];
    return call('queueUnserved', this.keys.standard, args, (reply) => {
      const [waiting, workers, names] = reply as [number[], number, string[]];
      return { waiting: waiting.map((index) => index - 1), workers: Number(workers), names };
    });
  }

  setLimits(limits: RuntimeLimits): ScriptCall<void> {
    return call('limitsSet', this.keys.standard, runtimeLimitArguments(limits), () => undefined);
  }

  clearLimits(): ScriptCall<void> {
    return call('limitsClear', this.keys.standard, [], () => undefined);
  }

  limits(): ScriptCall<LimitsInForce> {
    return call('limitsGet', this.keys.standard, [], (reply) => decodeLimits(reply as LimitsReply));
  }
}
