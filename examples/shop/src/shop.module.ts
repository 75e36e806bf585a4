import { Module } from '@nestjs/common';
import { JobQueueDashboardModule, LinkGuard } from 'nest-job-queue/dashboard';
import { AppModule } from './app.module.js';
import { ControlModule } from './control/control.module.js';
import { SameOriginGuard } from './control/same-origin.guard.js';
import { FirstJobs } from './first-jobs.js';
import { labelOf } from './jobs/label.js';
import { SEEDED_QUEUES } from './seeds/seeded-queues.js';
import { SeedsModule } from './seeds/seeds.module.js';
import { settings } from './settings.js';

/** Opened by the link of the terminal, as the shop's own page. In life there would be a guard that knows operators. */
const dashboard = {
  path: 'queues',
  guards: [SameOriginGuard, LinkGuard],
  label: labelOf,
  back: { text: 'The shop', href: '/' },
  queues: settings.seeds ? SEEDED_QUEUES : [],
};

/** The app as `main.ts` serves it: with the shop's page, and the library's dashboard at /queues. */
@Module({
  imports: [
    AppModule,
    ControlModule,
    JobQueueDashboardModule.forRoot(dashboard),
    ...(settings.seeds ? [SeedsModule] : []),
  ],
  providers: [FirstJobs],
})
export class ShopModule {}
