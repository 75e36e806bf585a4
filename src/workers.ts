// Entry point `nest-job-queue/workers`: worker processes and their supervisor.
export { runWorkers } from './processes/worker-processes.js';
export { WorkerBootError } from './processes/messages.js';
export type { EntryModule } from './processes/child.js';
export type { ReportedError } from './processes/messages.js';
export type { RunWorkersOptions } from './processes/options.js';
export type { WorkerProcesses, WorkerProcessStatus, WorkersEnd } from './processes/worker-processes.js';
export type { WorkerProcessState } from './processes/worker-process.js';
export type { WorkerProcessEnded, WorkerProcessEvent } from './processes/messages.js';
