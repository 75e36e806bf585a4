// This library in a Nest app: a decorated handler, found and started by the module. The producer is the bare core.
import * as library from '../../dist/esm/index.js';
import { loadOurs } from './ours.mjs';

const { JobHandler, JobQueueModule } = library;
const { open: openCore, version } = await loadOurs();

export const name = 'nest-job-queue (Nest)';
export { version };
/** False while the build does not export the module yet. */
export const available = typeof JobHandler === 'function' && typeof JobQueueModule === 'function';
export const settings = {
  worker: '@JobHandler(queue, { concurrency, prefetch }) in an application context; all else as in the core',
};

/** The variants of `--nest` besides a handler without enhancers. */
export const alternatives = {
  interceptor: { text: 'a handler with one interceptor', decorate: withInterceptor },
  enhancers: { text: 'a handler with a guard, an interceptor and a pipe of its payload', decorate: withEnhancers },
  request: { text: 'a REQUEST-scoped handler, made for each attempt', decorate: inRequestScope },
};

export async function open(options) {
  const core = await openCore(options);
  return { ...core, prepareWorker: (work) => prepareApp(core, options, work) };
}

async function prepareApp(core, { url, queue, keep, events, trial }, { concurrency, prefetch, handler, heldBack }) {
  // Nest is the version that the library was built with, from the root of the repository.
  const [{ Module }, { NestFactory }] = await Promise.all([import('@nestjs/common'), import('@nestjs/core')]);

  class BenchHandler {
    handle(job) {
      return handler(job.payload);
    }
  }
  JobHandler(queue, { concurrency, prefetch })(BenchHandler);
  trial?.decorate(BenchHandler, await import('@nestjs/common'));

  class BenchModule {}
  const queueOptions = { completedHistory: keep, events: events ? 'listened' : 'off' };
  const jobQueue = JobQueueModule.forRoot({ audit: 'off', redis: url, queues: { [queue]: queueOptions } });
  Module({ imports: [jobQueue], providers: [BenchHandler] })(BenchModule);

  let app;
  const boot = async () => {
    app = await NestFactory.createApplicationContext(BenchModule, { logger: ['error', 'warn'] });
  };
  if (!heldBack) return { start: () => void boot(), stop: () => app.close() };
  await core.pause();
  await boot();
  return { start: () => void core.resume(), stop: () => app.close() };
}

const interceptor = { intercept: (_context, next) => next.handle() };

function withInterceptor(handler, { UseInterceptors }) {
  UseInterceptors(interceptor)(handler);
}

function withEnhancers(handler, { UseGuards, UseInterceptors }) {
  UseGuards({ canActivate: () => true })(handler);
  UseInterceptors(interceptor)(handler);
  const { handle } = handler.prototype;
  Object.assign(handler.prototype, {
    handle(_payload, job) {
      return handle.call(this, job);
    },
  });
  library.JobPayload({ transform: (payload) => payload })(handler.prototype, 'handle', 0);
  library.JobRef()(handler.prototype, 'handle', 1);
}

function inRequestScope(handler, { Injectable, Scope }) {
  Injectable({ scope: Scope.REQUEST })(handler);
}
