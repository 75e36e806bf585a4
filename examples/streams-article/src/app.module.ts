import { Module } from '@nestjs/common';
import { JobQueueModule } from 'nest-job-queue';
import { FibonacciHandler } from './fibonacci.handler.js';
import { SleepHandler } from './sleep.handler.js';

// One job at a time in each process, as in the article.
@Module({
  imports: [JobQueueModule.forRoot({ concurrency: 1, completedHistory: 100 })],
  providers: [SleepHandler, FibonacciHandler],
})
export class AppModule {}
