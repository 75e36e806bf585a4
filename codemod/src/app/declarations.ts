// What the packages of BullMQ and Bull declare, as far as this package asks. With it the compiler
// follows queues and jobs through getters, base classes, callbacks and results. No package need be installed.

/** The name of the file in the project. */
export const DECLARATIONS = '/nest-job-queue-codemod.d.ts';

const METHODS_OF_ONE_JOB = [
  'updateData',
  'update',
  'updateProgress',
  'log',
  'clearLogs',
  'remove',
  'removeUnprocessedChildren',
  'removeChildDependency',
  'extendLock',
  'moveToCompleted',
  'moveToFailed',
  'moveToDelayed',
  'moveToWait',
  'moveToWaitingChildren',
  'promote',
  'retry',
  'discard',
  'changeDelay',
  'changePriority',
  'removeDeduplicationKey',
  'releaseLock',
  'takeLock',
];

const TESTS_OF_ONE_JOB = ['isCompleted', 'isFailed', 'isDelayed', 'isActive', 'isWaiting', 'isWaitingChildren'];

const job = (progress: string) => `
  export class Job<Data = any, Result = any, Name extends string = string> {
    id?: string; name: Name; data: Data; returnvalue: Result; ${progress}
    opts: JobsOptions; queueName: string; timestamp: number; processedOn?: number; finishedOn?: number;
    attemptsMade: number; attemptsStarted: number; stalledCounter: number; failedReason: string; stacktrace: string[];
    delay: number; priority: number; token?: string; parent?: any; parentKey?: string; queue: any; repeatJobKey?: string;
    deduplicationId?: string; processedBy?: string;
    ${METHODS_OF_ONE_JOB.map((name) => `${name}(...list: any[]): Promise<any>;`).join(' ')}
    ${TESTS_OF_ONE_JOB.map((name) => `${name}(): Promise<boolean>;`).join(' ')}
    getState(): Promise<JobState>;
    waitUntilFinished(...list: any[]): Promise<Result>; finished(): Promise<Result>;
    getChildrenValues<Value = any>(): Promise<Record<string, Value>>; getDependencies(...list: any[]): Promise<any>;
    toJSON(): any; asJSON(): any;
    static fromId(queue: Queue, id: string): Promise<Job | undefined>;
    static create(...list: any[]): Promise<Job>;
  }`;

const LISTS = ['getWaiting', 'getActive', 'getDelayed', 'getCompleted', 'getFailed', 'getPrioritized'];

const COUNTS = [
  'count',
  'getWaitingCount',
  'getActiveCount',
  'getDelayedCount',
  'getCompletedCount',
  'getFailedCount',
  'getPrioritizedCount',
  'getPausedCount',
  'getJobCountByTypes',
  'removeJobs',
];

const STEERING = ['pause', 'resume', 'close', 'drain', 'empty', 'obliterate', 'retryJobs', 'promoteJobs'];

const queue = (more: string) => `
  export class Queue<Data = any, Result = any, Name extends string = string> {
    constructor(name: string, ...list: any[]);
    name: string; opts: any; client: Promise<any>;
    addBulk(jobs: BulkJob[]): Promise<Job<Data, Result>[]>;
    getJob(id: any): Promise<Job<Data, Result> | undefined>;
    getJobs(types?: any, ...list: any[]): Promise<Job<Data, Result>[]>;
    ${LISTS.map((name) => `${name}(...list: any[]): Promise<Job<Data, Result>[]>;`).join(' ')}
    ${COUNTS.map((name) => `${name}(...list: any[]): Promise<number>;`).join(' ')}
    ${STEERING.map((name) => `${name}(...list: any[]): Promise<void>;`).join(' ')}
    getJobCounts(...types: any[]): Promise<JobCounts>;
    isPaused(...list: any[]): Promise<boolean>;
    getJobSchedulers(...list: any[]): Promise<RepeatableJob[]>; getRepeatableJobs(...list: any[]): Promise<RepeatableJob[]>;
    upsertJobScheduler(id: string, repeat: any, template?: { name?: string; data?: any; opts?: JobsOptions }): Promise<Job<Data, Result>>;
    waitUntilReady(): Promise<any>; isReady(): Promise<this>;
    on(event: string, listener: (...list: any[]) => void): this;
    once(event: string, listener: (...list: any[]) => void): this;
    [member: string]: any;
    ${more}
  }
  export interface BulkJob { name: string; data: any; opts?: JobsOptions }
  export interface JobCounts { [state: string]: number }
  export interface RepeatableJob {
    key: string; id?: string; name: string; pattern?: string; cron?: string; tz?: string; every?: any; next?: number;
    endDate?: any; limit?: number; iterationCount?: number; template?: any;
  }`;

const options = (names: string) => `
  export interface JobsOptions {
    ${names}
    delay?: number; attempts?: number; backoff?: any; lifo?: boolean; priority?: number; repeat?: any; removeOnComplete?: any;
    removeOnFail?: any; stackTraceLimit?: number; keepLogs?: number; sizeLimit?: number; timestamp?: number;
  }`;

const STATE = `'completed' | 'failed' | 'delayed' | 'active' | 'waiting' | 'waiting-children' | 'prioritized' | 'unknown'`;

const BULLMQ = `
declare module 'bullmq' {
  export type JobState = ${STATE};
  export type JobType = JobState | 'paused' | 'repeat' | 'wait';
  ${options('jobId?: string; deduplication?: any; debounce?: any; parent?: any; failParentOnFailure?: boolean;')}
  export interface BulkJobOptions extends JobsOptions {}
  ${job('progress: number | string | object | boolean;')}
  ${queue(`add(name: string, data?: any, options?: JobsOptions): Promise<Job<Data, Result>>;`)}
  export class Worker<Data = any, Result = any, Name extends string = string> {
    constructor(name: string, processor?: ((job: Job<Data, Result>, ...more: any[]) => any) | string | URL | null, options?: any);
    static RateLimitError(): Error;
    name: string; opts: any; concurrency: number; client: Promise<any>;
    on(event: string, listener: (...list: any[]) => void): this;
    once(event: string, listener: (...list: any[]) => void): this;
    ${['run', 'pause', 'close', 'rateLimit', 'waitUntilReady'].map((name) => `${name}(...list: any[]): Promise<any>;`).join(' ')}
    resume(): void; isRunning(): boolean; isPaused(): boolean;
    [member: string]: any;
  }
  export class FlowProducer { constructor(...list: any[]); add(...list: any[]): Promise<any>; [member: string]: any }
  export class QueueEvents { constructor(...list: any[]); on(event: string, listener: (...list: any[]) => void): this; [member: string]: any }
  export class UnrecoverableError extends Error {}
  export class DelayedError extends Error {}
  export class RateLimitError extends Error {}
  export class WaitingChildrenError extends Error {}
}
declare module '@nestjs/bullmq' {
  export abstract class WorkerHost<W = import('bullmq').Worker> {
    get worker(): import('bullmq').Worker;
    abstract process(job: import('bullmq').Job, token?: string, signal?: AbortSignal): Promise<any>;
  }
  export abstract class QueueEventsHost { get queueEvents(): import('bullmq').QueueEvents }
  export const BullModule: any; export const InjectQueue: any; export const InjectFlowProducer: any; export const Processor: any;
  export const OnWorkerEvent: any; export const OnQueueEvent: any; export const QueueEventsListener: any; export const getQueueToken: any;
}`;

const BULL = `
declare module 'bull' {
  export type JobState = ${STATE};
  export type JobStatus = JobState | 'paused';
  export type JobId = number | string;
  ${options('jobId?: number | string; timeout?: number; preventParsingData?: boolean;')}
  export type JobOptions = JobsOptions;
  ${job('progress(value?: any): any;')}
  ${queue(`add(...list: any[]): Promise<Job<Data, Result>>;`)}
  const Bull: { new (name: string, ...list: any[]): Queue; (name: string, ...list: any[]): Queue };
  namespace Bull {
    type Queue<Data = any> = import('bull').Queue<Data>;
    type Job<Data = any> = import('bull').Job<Data>;
    type JobOptions = import('bull').JobOptions;
    type JobStatus = import('bull').JobStatus;
    type JobId = import('bull').JobId;
  }
  export default Bull;
}
declare module '@nestjs/bull' {
  export const BullModule: any; export const InjectQueue: any; export const Processor: any; export const Process: any; export const getQueueToken: any;
  export const OnQueueActive: any; export const OnQueueCompleted: any; export const OnQueueFailed: any;
}`;

/** The declarations. An ambient module comes before a package that is installed. */
export const DECLARED = `${BULLMQ}\n${BULL}\n`;
