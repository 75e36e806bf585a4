// An app of the tests, run in worker processes. Its workers start by hand elsewhere. Its handler returns what the bootstrap has loaded.
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobHandler, JobQueueModule } from 'nest-job-queue';
import { runWorkers } from 'nest-job-queue/workers';

@Injectable()
class Model implements OnApplicationBootstrap {
  state = 'empty';

  async onApplicationBootstrap() {
    await delay(100); // long enough for a job that waits to start before
    this.state = 'loaded';
  }
}

@JobHandler(process.env.TEST_QUEUE!, { maxAttempts: 1 })
class Handler {
  constructor(private readonly model: Model) {}

  handle() {
    return this.model.state;
  }
}

@Module({ imports: [JobQueueModule.forRoot({ worker: 'manual' })], providers: [Model, Handler] })
class AppModule {}

await runWorkers(AppModule);
