import { describe, expect, it, jest } from '@jest/globals';
import { Injectable, type Provider } from '@nestjs/common';
import {
  InjectQueue,
  JobHandler,
  JobQueueService,
  OnJobFailed,
  type JobQueue,
  type JobQueueModuleOptions,
} from 'nest-job-queue';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import { HandlerRegistry } from '#nest/handlers/handler-registry.js';
import { QuietLogger } from '#nest/connection/quiet-logger.js';
import { UnusedNames } from '#nest/lifecycle/unused-names.js';
import { UnservedWatch } from '#queue/enqueue/producer.js';
import { eventually } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { handlerOf, KeptLog, onEachStore, startApp } from '../app.js';

const ABOUT_NAMES = /^warn (?:.* (?:names|uses) queue |.* handles failures of jobs |Could not look whether queue )/;

/** Starts an app. `warnings` returns its lines about names, `look` looks at all names as it does after its fleet's boot. */
async function started(providers: Provider[], jobs: JobQueueModuleOptions = {}) {
  const log = new KeptLog();
  const app = await startApp({ providers, jobs, log });
  const part = <Part>(type: abstract new (...args: never) => Part) => app.get(type, { strict: false });
  return {
    jobs: app.get(JobQueueService),
    queues: part(QueueRegistry),
    // On a busy machine the app may also warn of a Redis that is slow to answer.
    warnings: () => log.lines.filter((line) => ABOUT_NAMES.test(line)),
    look: () => part(UnusedNames).lookAtAll(),
    /** Makes the watch of a process that has run for longer than a fleet takes to start. */
    old: () => new UnusedNames(part(QueueRegistry), part(HandlerRegistry), part(QuietLogger), 0),
  };
}

/** Returns a name and the same with two letters exchanged. */
function names() {
  const email = `email${uniqueQueueName()}`;
  return { email, emial: email.replace('email', 'emial') };
}

/** Returns the warning of a job that nobody handles, in an app without workers. */
async function told(provides: boolean): Promise<string> {
  const [name, other] = [uniqueQueueName('mail'), uniqueQueueName('other')];
  @JobHandler(name)
  class MailHandler {
    handle(): void {}
  }
  @JobHandler(other)
  class OtherHandler {
    handle(): void {}
  }
  const log = new KeptLog();
  const providers = provides ? [MailHandler, OtherHandler] : [OtherHandler];
  const app = await startApp({ providers, jobs: { worker: false }, log });
  const queue = app.get(JobQueueService).queue(name);
  const watch = new UnservedWatch(queue, 1);
  watch.added(await queue.enqueue({}).then(({ id }) => id), name);
  const line = () => log.lines.find((each) => each.includes('No live worker handles the name'));
  await eventually(async () => line() !== undefined);
  watch.close();
  return line()!;
}

describe('a handler in no providers', () => {
  it('is named by the warning of its waiting jobs', async () => {
    expect(await told(false)).toMatch(
      /deploy a handler for it\. MailHandler has @JobHandler for it, and is in no `providers` of this app: add it if the app runs these jobs\.$/,
    );
  });

  it('is not named if an app without workers provides it', async () => {
    expect(await told(true)).toMatch(/deploy a handler for it\.$/);
  });
});

onEachStore('a misspelled name', () => {
  it.each([
    ['pause', (jobs: JobQueueService, name: string) => jobs.pause(name)],
    ['limits', (jobs: JobQueueService, name: string) => jobs.queue(name).limits.set({ maxRunning: 1 })],
    ['limits', (jobs: JobQueueService, name: string) => jobs.queue(name).limits.change({ maxRunning: 1 })],
    ['groups', (jobs: JobQueueService, name: string) => jobs.queue(name).groups.pause('a')],
  ])('of %s is done, with one warning that names the likely one', async (verb, act) => {
    const { email, emial } = names();
    const { jobs, warnings } = await started([handlerOf(email)]);
    await act(jobs, emial);
    await act(jobs, emial);
    expect(warnings()).toEqual([
      `warn ${verb} names queue "${emial}", which never had a job and has no live worker. Check the spelling. Did you mean ${email}?`,
    ]);
    await jobs.pause(emial);
    expect((await jobs.queue(emial).stats()).pausedAt).not.toBeNull();
  });

  it('of pauseWorker gets a warning too', async () => {
    const { email, emial } = names();
    const { jobs, warnings } = await started([handlerOf(email)]);
    jobs.pauseWorker(email);
    jobs.pauseWorker(emial);
    expect(warnings()).toEqual([
      `warn pauseWorker names queue "${emial}", which this process does not serve. Did you mean ${email}?`,
    ]);
  });

  it('of an injected queue gets a warning once a fleet can have started', async () => {
    const { email, emial } = names();
    @Injectable()
    class Sender {
      constructor(@InjectQueue(emial) readonly queue: JobQueue) {}
    }
    const { look, warnings } = await started([handlerOf(email), Sender]);
    expect(warnings()).toEqual([]);
    await look();
    await look();
    expect(warnings()).toEqual([
      `warn This process uses queue "${emial}", which never had a job and has no live worker. Check the spelling. Did you mean ${email}?`,
    ]);
  });

  it.each([
    ['queue', undefined],
    ['name in a shared queue', uniqueQueueName()],
  ])('of a failure handler gets one, for its %s', async (_what, queue) => {
    const { email, emial } = names();
    class Failures {
      @OnJobFailed(emial, { queue })
      mend() {}
    }
    const handler = handlerOf(email);
    const { look, warnings } = await started([handler, Failures]);
    await look();
    expect(warnings()).toEqual([
      expect.stringMatching(
        `^warn @OnJobFailed\\("${emial}"\\) on Failures.mend handles failures of jobs "${emial}" in queue "${queue ?? emial}", and no live worker handles such jobs.`,
      ),
    ]);
    expect(warnings()[0]).toContain(queue === undefined ? `Did you mean ${email}?` : 'Check the spelling.');
  });
});

describe('a name that is no mistake', () => {
  it('gets no warning: handled, configured, used by jobs, or the only one in a young process', async () => {
    const { email, emial } = names();
    const [configured, used, own] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    class Failures {
      @OnJobFailed(email)
      mend() {}
    }
    const { jobs, look, warnings } = await started([handlerOf(email), Failures], { queues: { [configured]: {} } });
    await jobs.enqueue(emial, null);
    await Promise.all([email, emial, configured].map((name) => jobs.pause(name)));
    await jobs.enqueue(used, null);
    await look();
    await jobs.pause(own); // perhaps before its first worker
    expect(warnings()).toEqual([]);
  });

  it('costs no command where this process handles or configures it', async () => {
    const [handled, configured] = [uniqueQueueName(), uniqueQueueName()];
    const { queues, old, warnings } = await started([handlerOf(handled)], { queues: { [configured]: {} } });
    const stats = [handled, configured].map((name) => jest.spyOn(queues.queue(name), 'stats'));
    await Promise.all([handled, configured].map((name) => old().afterCall(queues.queue(name), 'pause')));
    stats.forEach((spy) => expect(spy).not.toHaveBeenCalled());
    await old().afterCall(queues.queue(uniqueQueueName()), 'pause');
    expect(warnings()).toEqual([expect.stringMatching(/^warn pause names queue .* Known: /)]);
  });
});
