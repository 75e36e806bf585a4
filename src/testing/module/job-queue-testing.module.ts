import { Module, type DynamicModule } from '@nestjs/common';
import { JobQueueModule } from '../../nest/job-queue.module.js';
import type { JobQueueModuleExtras } from '../../nest/job-queue-core.module.js';
import { STORE_OVERRIDE } from '../../nest/connection/server-connection.js';
import type { JobQueueModuleOptions } from '../../nest/options/job-queue.options.js';
import { JobQueueTesting, type JobQueueTestingOptions } from './job-queue-testing.js';

/**
 * Replaces JobQueueModule in a test. Handlers, services and queues work as in production, in the memory of the process
 * and by the test's clock. It opens no connection and no port, and its timers do not keep the process alive.
 *
 * @example
 * const moduleRef = await Test.createTestingModule({
 *   imports: [JobQueueTestingModule.forTest()],
 *   providers: [SignUpService, EmailHandler],
 * }).compile();
 * await moduleRef.init();
 * const testing = moduleRef.get(JobQueueTesting);
 */
@Module({})
export class JobQueueTestingModule {
  /**
   * Replaces `JobQueueModule.forRoot(options)`.
   *
   * @param options as of `JobQueueModule.forRoot`; `redis` is not used
   * @throws InvalidOptionError
   * @example overrideModule(Jobs).useModule(JobQueueTestingModule.forTest({ maxAttempts: 3 })) // Jobs = JobQueueModule.forRoot(…)
   */
  static forTest(
    options: Omit<JobQueueModuleOptions, 'redis' | 'requireRedis' | 'audit'> & JobQueueModuleExtras = {},
    testing: JobQueueTestingOptions = {},
  ): DynamicModule {
    const { imports: _none, ...definition } = this.forApp(testing);
    return {
      ...definition,
      imports: [JobQueueModule.forRoot(options)],
      exports: [...definition.exports!, JobQueueModule],
    };
  }

  /**
   * Puts the queues of an app in memory: imported beside the app's own module, whose `JobQueueModule.forRoot` keeps its
   * options.
   *
   * @throws InvalidOptionError
   * @example Test.createTestingModule({ imports: [AppModule, JobQueueTestingModule.forApp()] })
   */
  static forApp(testing: JobQueueTestingOptions = {}): DynamicModule {
    return {
      module: JobQueueTestingModule,
      global: true,
      imports: [],
      providers: [
        { provide: JobQueueTesting, useFactory: () => new JobQueueTesting(testing) },
        { provide: STORE_OVERRIDE, useExisting: JobQueueTesting },
      ],
      exports: [JobQueueTesting, STORE_OVERRIDE],
    };
  }
}
