import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { runWorkers, type WorkerProcesses } from 'nest-job-queue/workers';

/** Each process runs image-worker.js, which names the module itself. */
@Module({})
class InProcess {}

/** Starts a new process for each that died. */
@Injectable()
export class ImageProcesses implements OnModuleDestroy {
  private processes: WorkerProcesses | undefined;

  async start(): Promise<void> {
    this.processes = await runWorkers(InProcess, {
      processes: 1,
      entry: new URL('./image-worker.js', import.meta.url),
      ownsProcess: false,
      stableMs: 0,
      longestRestartDelayMs: 2_000,
    });
  }

  async onModuleDestroy(): Promise<void> {
    await this.processes?.stop();
  }
}
