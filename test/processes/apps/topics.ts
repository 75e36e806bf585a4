// An app of the tests with topics. Its argument says what it does, as JSON. It prints a line of JSON for each thing that happens.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Job, JobQueueModule, JobQueueService, type MiddlewareEntry, OnTopic } from 'nest-job-queue';

interface Plan {
  redis: string;
  topic: string;
  /** True if it has the subscriptions a and b of the topic. */
  subscribes?: boolean;
  /** The id of a publication. */
  publishes?: string;
  /** True if its enqueues for the subscription b never end. */
  holdsB?: boolean;
}

const plan = JSON.parse(process.argv[2]!) as Plan;
const say = (type: string, detail?: unknown) => process.stdout.write(`${JSON.stringify({ type, detail })}\n`);

class Subscriber {
  @OnTopic(plan.topic, { subscription: 'a' })
  @OnTopic(plan.topic, { subscription: 'b' })
  note({ name, payload }: Job) {
    say('ran', `${name} ${String(payload)}`);
  }
}

/** Reports the enqueue for the subscription a, and holds that for b. */
const holding: MiddlewareEntry = {
  enqueue: async (request, next) => {
    if (request.queue.endsWith('/b')) await new Promise(() => undefined);
    const handles = await next();
    if (request.queue.endsWith('/a')) say('added', handles[0]!.id);
    return handles;
  },
};

const queues = { [`topic-publications/${plan.topic}`]: { visibilityMs: 1_500 } };
const { redis, holdsB } = plan;
@Module({
  imports: [
    JobQueueModule.forRoot({
      redis,
      queues,
      maintenance: { everyMs: 300 },
      ...(holdsB && { middleware: [holding] }),
    }),
  ],
  providers: plan.subscribes ? [Subscriber] : [],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
say('ready');
if (plan.publishes !== undefined) {
  await app.get(JobQueueService).publish(plan.topic, plan.publishes, { id: plan.publishes });
}
