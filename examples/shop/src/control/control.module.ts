import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { RedisAwayFilter } from '../http/redis-away.filter.js';
import { JobsModule } from '../jobs/jobs.module.js';
import { History } from './live/history.js';
import { ListingController } from './listing.controller.js';
import { LiveFeed } from './live/live-feed.js';
import { LiveController } from './live/live.controller.js';
import { SnapshotService } from './live/snapshot.js';
import { PageController } from './page.controller.js';
import { Orders } from './orders.js';
import { PatternController } from './pattern.controller.js';
import { PictureService } from './picture/picture.js';
import { Wrecks } from './picture/wrecks.js';
import { WorkerPool } from './pool/worker-pool.js';
import { SameOriginGuard } from './same-origin.guard.js';
import { CrashShow } from './show/crash-show.js';
import { DeployShow } from './show/deploy-show.js';
import { Stage } from './show/stage.js';
import { TenantsShow } from './show/tenants-show.js';
import { StatsService } from './stats.service.js';
import { Labels } from './story/labels.js';
import { PoolStory } from './story/pool-story.js';
import { QueueStory } from './story/queue-story.js';
import { Story } from './story/story.js';
import { Troubles } from './story/troubles.js';
import { TotalsSinceReset } from './totals.js';
import { WorkersController } from './workers.controller.js';

/** The control page, and the worker processes that it starts and stops. */
@Module({
  imports: [JobsModule],
  controllers: [PageController, PatternController, ListingController, WorkersController, LiveController],
  providers: [
    WorkerPool,
    TotalsSinceReset,
    StatsService,
    SnapshotService,
    History,
    LiveFeed,
    Stage,
    CrashShow,
    DeployShow,
    TenantsShow,
    Story,
    Labels,
    Orders,
    Wrecks,
    PictureService,
    Troubles,
    PoolStory,
    QueueStory,
    { provide: APP_GUARD, useClass: SameOriginGuard },
    { provide: APP_FILTER, useClass: RedisAwayFilter },
  ],
})
export class ControlModule {}
