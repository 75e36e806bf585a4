import { Module } from '@nestjs/common';
import { AppModule } from './app.module.js';
import { ControlModule } from './control/control.module.js';
import { FirstJobs } from './first-jobs.js';

/** The app as `main.ts` serves it: with the control page. */
@Module({ imports: [AppModule, ControlModule], providers: [FirstJobs] })
export class ShopModule {}
