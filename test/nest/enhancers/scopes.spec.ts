// Handlers and dependencies of every scope: the job is the request, one context per attempt, unreachable afterwards.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Inject, Injectable, Scope, UseGuards, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ContextIdFactory, ModuleRef, REQUEST, type ContextId } from '@nestjs/core';
import { afterEach, expect, it } from '@jest/globals';
import { getJob, JobHandler, JobPayload, JobQueueService, NonRetryableError, type Job } from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { onEachStore, startApp } from '../app.js';
import { sleep } from '../../support/faults/wait.js';

let made = 0;

@Injectable({ scope: Scope.REQUEST })
class Tenant {
  readonly number = ++made;

  constructor(@Inject(REQUEST) readonly job: Job) {}
}

@Injectable({ scope: Scope.TRANSIENT })
class Scratch {
  readonly number = ++made;
}

/** Collects garbage now. */
const collect = () => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
};

onEachStore('a REQUEST-scoped dependency', () => {
  it('gets the job, and is made once for each attempt', async () => {
    const name = uniqueQueueName();
    const seen: { tenant: Tenant; job: Job; other: Tenant }[] = [];
    @Injectable()
    class Mailer {
      constructor(readonly tenant: Tenant) {}
    }
    @JobHandler(name, { maxAttempts: 2 })
    class Handler {
      constructor(
        private readonly tenant: Tenant,
        private readonly mailer: Mailer,
      ) {}

      handle(job: Job) {
        seen.push({ tenant: this.tenant, job, other: this.mailer.tenant });
        if (job.attempt === 1) throw new Error('once more');
        return this.tenant.job.payload;
      }
    }
    const app = await startApp({ providers: [Handler, Tenant, Mailer] });
    const job = await app.get(JobQueueService).enqueue(name, 'mine', { backoff: 0 });
    expect(await job.result()).toBe('mine');
    expect(seen).toHaveLength(2);
    for (const { tenant, job: ran, other } of seen) {
      expect(tenant.job).toBe(ran);
      expect(other).toBe(tenant);
    }
    expect(seen[0]!.tenant).not.toBe(seen[1]!.tenant);
  });

  it('is that of its own job, while many run at once', async () => {
    const name = uniqueQueueName();
    @JobHandler(name, { concurrency: 10 })
    class Handler {
      constructor(private readonly tenant: Tenant) {}

      async handle(job: Job) {
        await new Promise((resolve) => setImmediate(resolve));
        return this.tenant.job === job;
      }
    }
    const app = await startApp({ providers: [Handler, Tenant] });
    const jobs = await app.get(JobQueueService).enqueueMany(
      name,
      Array.from({ length: 50 }, () => ({ payload: {} })),
    );
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(jobs.map(() => true));
  });

  it('whose constructor throws fails the attempt', async () => {
    const name = uniqueQueueName();
    @Injectable({ scope: Scope.REQUEST })
    class Broken {
      constructor() {
        throw new NonRetryableError('no such tenant');
      }
    }
    @JobHandler(name, { maxAttempts: 3 })
    class Handler {
      constructor(readonly broken: Broken) {}
      handle() {}
    }
    const app = await startApp({ providers: [Handler, Broken] });
    const job = await app.get(JobQueueService).enqueue(name, {});
    await expect(job.result()).rejects.toMatchObject({ attempts: 1, reason: 'no such tenant' });
  });

  it('cannot be reached after its attempt', async () => {
    const name = uniqueQueueName();
    const contexts: WeakRef<object>[] = [];
    @Injectable({ scope: Scope.REQUEST })
    class Large {
      readonly bytes = new Uint8Array(10_000);

      constructor(@Inject(REQUEST) readonly job: Job) {
        contexts.push(new WeakRef(this));
      }
    }
    @Injectable({ scope: Scope.REQUEST })
    class Guard implements CanActivate {
      constructor(readonly large: Large) {}
      canActivate = () => true;
    }
    @JobHandler(name)
    @UseGuards(Guard)
    class Handler {
      constructor(readonly large: Large) {}

      handle(@JobPayload() payload: number) {
        return payload;
      }
    }
    const app = await startApp({ providers: [Handler, Large] });
    const service = app.get(JobQueueService);
    const jobs = await service.enqueueMany(
      name,
      Array.from({ length: 100 }, (_, i) => ({ payload: i })),
    );
    await Promise.all(jobs.map((job) => job.result()));
    await sleep(100);
    collect();
    expect(contexts).toHaveLength(100);
    // The last attempts may still be held by what has just settled them.
    expect(contexts.filter((each) => each.deref()).length).toBeLessThan(40);
  });
});

onEachStore('other scopes', () => {
  it('a transient handler is made again for each attempt, with its transient dependencies', async () => {
    const name = uniqueQueueName();
    const seen: unknown[] = [];
    @JobHandler(name)
    @Injectable({ scope: Scope.TRANSIENT })
    class Handler {
      constructor(readonly scratch: Scratch) {}

      handle() {
        seen.push(this, this.scratch);
      }
    }
    const app = await startApp({ providers: [Handler, Scratch] });
    const jobs = await app.get(JobQueueService).enqueueMany(name, [{ payload: 1 }, { payload: 2 }]);
    await Promise.all(jobs.map((job) => job.result()));
    expect(new Set(seen).size).toBe(4);
    expect(seen[1]).toBeInstanceOf(Scratch);
  });

  it('a handler of the default scope keeps its transient dependency', async () => {
    const name = uniqueQueueName();
    @JobHandler(name)
    class Handler {
      constructor(private readonly scratch: Scratch) {}
      handle = () => this.scratch.number;
    }
    // A field is no method: the decorator finds it on the instance all the same.
    const app = await startApp({ providers: [Handler, Scratch] });
    const jobs = await app.get(JobQueueService).enqueueMany(name, [{ payload: 1 }, { payload: 2 }]);
    const [first, second] = await Promise.all(jobs.map((job) => job.result()));
    expect(first).toBe(second);
  });

  it('a REQUEST-scoped guard makes the handler scoped, and gets the job', async () => {
    const name = uniqueQueueName();
    @Injectable({ scope: Scope.REQUEST })
    class TenantGuard implements CanActivate {
      constructor(private readonly tenant: Tenant) {}

      canActivate(context: ExecutionContext) {
        return this.tenant.job === getJob(context) && this.tenant.job.metadata.tenant === 'acme';
      }
    }
    @JobHandler(name)
    @UseGuards(TenantGuard)
    class Handler {
      handle() {
        return 'let in';
      }
    }
    const app = await startApp({ providers: [Handler, Tenant] });
    const jobs = app.get(JobQueueService);
    const allowed = await jobs.enqueue(name, {}, { metadata: { tenant: 'acme' } });
    expect(await allowed.result()).toBe('let in');
    const denied = await jobs.enqueue(name, {});
    await expect(denied.result()).rejects.toMatchObject({ attempts: 1, errorName: 'ForbiddenException' });
  });

  it('ContextIdFactory.getByRequest(job) is the context of the attempt', async () => {
    const name = uniqueQueueName();
    @JobHandler(name)
    class Handler {
      constructor(
        private readonly tenant: Tenant,
        private readonly ref: ModuleRef,
      ) {}

      async handle(job: Job) {
        return (await this.ref.resolve(Tenant, ContextIdFactory.getByRequest(job))) === this.tenant;
      }
    }
    const app = await startApp({ providers: [Handler, Tenant] });
    const job = await app.get(JobQueueService).enqueue(name, {});
    expect(await job.result()).toBe(true);
  });
});

onEachStore('a durable provider', () => {
  afterEach(() => ContextIdFactory.apply({ attach: (contextId) => () => contextId }));

  it('is made once for each context of the strategy', async () => {
    const tenants = new Map<string, ContextId>();
    ContextIdFactory.apply({
      attach(contextId, job: Job) {
        const tenant = job.metadata.tenant!;
        const ofTenant = tenants.get(tenant) ?? ContextIdFactory.create();
        tenants.set(tenant, ofTenant);
        return { resolve: ({ isTreeDurable }) => (isTreeDurable ? ofTenant : contextId), payload: { tenant } };
      },
    });
    @Injectable({ scope: Scope.REQUEST, durable: true })
    class Pool {
      readonly number = ++made;

      constructor(@Inject(REQUEST) readonly request: { tenant: string }) {}
    }
    const name = uniqueQueueName();
    @JobHandler(name)
    class Handler {
      constructor(private readonly pool: Pool) {}

      handle() {
        return [this.pool.request.tenant, this.pool.number];
      }
    }
    const app = await startApp({ providers: [Handler, Pool] });
    const jobs = await app.get(JobQueueService).enqueueMany(
      name,
      ['acme', 'globex', 'acme', 'acme'].map((tenant) => ({ payload: {}, metadata: { tenant } })),
    );
    const [acme, globex, ...again] = (await Promise.all(jobs.map((job) => job.result()))) as [string, number][];
    expect([acme![0], globex![0]]).toEqual(['acme', 'globex']);
    expect(again).toEqual([acme, acme]);
    expect(globex![1]).not.toBe(acme![1]);
  });
});
