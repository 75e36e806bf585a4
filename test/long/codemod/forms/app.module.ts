import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { HistoryProcessor, MailProcessor, OrderProcessor } from './processors.js';
import { Images, MailService, Orders, Saves } from './services.js';
import { Journal } from './journal.js';

// Saves are kept nowhere.
const GONE = { removeOnComplete: true, removeOnFail: true };

const queues = [
  BullModule.registerQueue({ name: 'image' }),
  ...['order'].map((name) => BullModule.registerQueue({ name })),
];

@Module({
  imports: [
    BullModule.forRoot({
      connection: { host: '127.0.0.1', port: Number(process.env['REDIS_PORT']) },
      // Of all queues without their own.
      defaultJobOptions: {
        attempts: 2,
        backoff: { type: 'fixed', delay: 10 },
        removeOnComplete: true,
        removeOnFail: true,
      },
    }),
    BullModule.registerQueue(
      { name: 'mail', defaultJobOptions: { attempts: 3, backoff: 10 } },
      { name: 'history', defaultJobOptions: GONE },
    ),
    ...queues,
  ],
  providers: [Journal, HistoryProcessor, MailProcessor, OrderProcessor, Images, MailService, Orders, Saves],
})
export class AppModule {}
