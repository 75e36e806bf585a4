import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { History } from './live/history.js';
import { LiveController } from './live/live.controller.js';
import { SnapshotService } from './live/snapshot.js';
import { PageController } from './page.controller.js';
import { PatternController } from './pattern.controller.js';
import { WorkerPool } from './pool/worker-pool.js';
import { QueueAccess } from './queue-access.js';
import { SameOriginGuard } from './same-origin.guard.js';
import { StatsService } from './stats.service.js';
import { PoolStory } from './story/pool-story.js';
import { QueueStory } from './story/queue-story.js';
import { Story } from './story/story.js';
import { Troubles } from './story/troubles.js';
import { TotalsSinceReset } from './totals.js';
import { WorkersController } from './workers.controller.js';

/** The control page, and the worker processes that it governs. */
@Module({
  controllers: [PageController, PatternController, WorkersController, LiveController],
  providers: [
    WorkerPool,
    QueueAccess,
    TotalsSinceReset,
    StatsService,
    SnapshotService,
    History,
    Story,
    Troubles,
    PoolStory,
    QueueStory,
    { provide: APP_GUARD, useClass: SameOriginGuard },
  ],
})
export class ControlModule {}
