import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { StatsService } from '../stats.service.js';

const KEPT_S = 300;

/** Unix time in s, then pending and processing now, then completed, failed and reclaimed since the reset. */
export type Sample = [number, number, number, number, number, number];

/** The last five minutes, a sample a second, for the charts. While Redis is away there are none. */
@Injectable()
export class History implements OnApplicationBootstrap, OnModuleDestroy {
  readonly samples: Sample[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly statistics: StatsService) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.runOnce(), 1_000);
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  async runOnce(): Promise<void> {
    try {
      const now = await this.statistics.now();
      const { pending_depth, processing_depth, completed_total, failed_total, reclaimed_total } = now;
      const at = Math.round(Date.now() / 1_000);
      this.samples.push([at, pending_depth, processing_depth, completed_total, failed_total, reclaimed_total]);
      while (this.samples[0]![0] <= at - KEPT_S) this.samples.shift();
    } catch {
      // Redis is away: no sample, and a gap in the charts.
    }
  }
}
