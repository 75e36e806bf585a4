import { Global, Module } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';
import { JobErrorFilter } from './errors.js';
import { Outbox } from './outbox.js';
import { CurrentPractice, Practices } from './practice.js';
import { TimingInterceptor, Timings } from './timing.interceptor.js';

/** Providers that all features share. */
@Global()
@Module({
  providers: [
    Practices,
    CurrentPractice,
    Outbox,
    Timings,
    { provide: APP_FILTER, useClass: JobErrorFilter },
    { provide: APP_INTERCEPTOR, useClass: TimingInterceptor },
  ],
  exports: [Practices, CurrentPractice, Outbox, Timings],
})
export class CommonModule {}
