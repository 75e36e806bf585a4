import { Logger } from '@nestjs/common';
import { isWorkerProcess, runChild, type EntryModule } from './child.js';
import { MetricsServer } from './metrics/server.js';
import { resolveRunWorkersOptions, type RunWorkersOptions } from './options.js';
import { WorkerProcesses, type WorkersEnd } from './worker-processes.js';

/** A second Ctrl-C this many ms after the first means that the user does not want to wait. */
const IMPATIENT_MS = 1_000;

/**
 * Runs the handlers of a Nest app in several supervised processes. It replaces a process that dies or hangs and writes one
 * log. At SIGTERM and SIGINT it lets running handlers finish.
 *
 * Call it in a separate entry file. Each worker process runs that file again. There this call boots the app, without
 * HTTP, and never returns.
 *
 * @returns once the worker of every process runs, in the supervising process only
 * @throws InvalidOptionError; WorkerBootError when a process ends before its worker runs, five times in a row
 * @example
 * // worker.ts
 * import { runWorkers } from 'nest-job-queue';
 * import { AppModule } from './app.module.js';
 *
 * await runWorkers(AppModule, { processes: 4 });
 */
export async function runWorkers(module: EntryModule, options: RunWorkersOptions = {}): Promise<WorkerProcesses> {
  if (isWorkerProcess()) {
    return runChild(module);
  }
  const resolved = resolveRunWorkersOptions(options);
  if (resolved.logger !== undefined) {
    Logger.overrideLogger(resolved.logger);
  }
  const metrics = resolved.metrics && (await MetricsServer.open(resolved.metrics));
  const workers = new WorkerProcesses(resolved, metrics);
  if (resolved.ownsProcess) {
    own(workers);
  }
  if (!(await workers.whenReady()) && resolved.ownsProcess) {
    await new Promise(() => undefined); // a signal came first: this process is about to end
  }
  return workers;
}

/**
 * Ends this process with the workers: at a signal, or when they are given up. A second Ctrl-C kills them. A Ctrl-C at
 */
function own(workers: WorkerProcesses): void {
  let askedAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    askedAt ??= performance.now();
    if (signal === 'SIGINT' && performance.now() - askedAt > IMPATIENT_MS) {
      workers.kill();
    }
    void workers.stop();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const onEnd = ({ exitCode, error }: WorkersEnd): void => {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    process.exitCode = exitCode;
    if (askedAt !== undefined || error) {
      // Whoever awaits it gets the error first.
      setImmediate(() => process.exit());
    }
  };
  void workers.ended.then(onEnd);
}
