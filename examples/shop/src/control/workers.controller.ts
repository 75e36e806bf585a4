import { Body, Controller, HttpCode, NotFoundException, Post } from '@nestjs/common';
import { z } from 'zod';
import { ZodBody } from '../http/zod-body.pipe.js';
import { fraction, wholeNumber } from './pattern-numbers.js';
import type { StatsView } from './pattern-views.js';
import { WorkerPool } from './pool/worker-pool.js';
import { CrashShow } from './show/crash-show.js';
import { DeployShow } from './show/deploy-show.js';
import { TenantsShow } from './show/tenants-show.js';
import { StatsService } from './stats.service.js';

const conditionFields = {
  work_latency_ms: wholeNumber(0, 60_000).optional(),
  fail_rate: fraction().optional(),
  hang_rate: fraction().optional(),
};
const startSchema = z.object({ size: wholeNumber(0, 8).optional(), ...conditionFields });
const configureSchema = z.object(conditionFields);
const killSchema = z.object({ worker: z.string().max(50).optional() });

@Controller('workers')
export class WorkersController {
  constructor(
    private readonly pool: WorkerPool,
    private readonly stats: StatsService,
    private readonly crashShow: CrashShow,
    private readonly deployShow: DeployShow,
    private readonly tenantsShow: TenantsShow,
  ) {}

  /** Starts the workers. Missing values return to their defaults, as in the pattern's demo. */
  @Post('start')
  @HttpCode(200)
  start(@Body(new ZodBody(startSchema)) body: z.infer<typeof startSchema>): Promise<StatsView> {
    const { size = 2, work_latency_ms: latencyMs = 400, fail_rate: failRate = 0, hang_rate: hangRate = 0 } = body;
    this.pool.configure({ latencyMs, failRate, hangRate });
    void this.pool.resize(size);
    return this.stats.after(`There are to be ${size} workers.`);
  }

  /** Returns at once; a worker finishes its job. */
  @Post('stop')
  @HttpCode(200)
  stop(): Promise<StatsView> {
    void this.pool.resize(0);
    return this.stats.after('The workers stop.');
  }

  @Post('configure')
  @HttpCode(200)
  configure(@Body(new ZodBody(configureSchema)) body: z.infer<typeof configureSchema>): Promise<StatsView> {
    const { work_latency_ms, fail_rate, hang_rate } = body;
    const { latencyMs, failRate, hangRate } = this.pool.conditions;
    this.pool.configure({
      latencyMs: work_latency_ms ?? latencyMs,
      failRate: fail_rate ?? failRate,
      hangRate: hang_rate ?? hangRate,
    });
    return this.stats.after('The conditions are set.');
  }

  /** Sends SIGKILL to a worker: the named one, else one with a job. */
  @Post('kill')
  @HttpCode(200)
  async kill(@Body(new ZodBody(killSchema)) { worker }: z.infer<typeof killSchema>) {
    const killed = this.pool.kill(worker);
    if (!killed)
      throw new NotFoundException(worker === undefined ? 'No worker runs.' : `No worker ${worker} runs.`);
    const { name, pid, job } = killed;
    return { killed: name, pid, job: job?.id ?? null, stats: await this.stats.after(`${name} is killed.`) };
  }

  /** Kills a worker during a job made for it, and follows that job to its end, as `GET /live` shows. */
  @Post('crash')
  @HttpCode(200)
  async crash(): Promise<{ job: string; stats: StatsView }> {
    const job = await this.crashShow.begin();
    return { job, stats: await this.stats.after(`The show continues with job ${job}.`) };
  }

  /** Replaces all workers one by one while jobs made for it run, as `GET /live` shows. */
  @Post('deploy')
  @HttpCode(200)
  async deploy(): Promise<{ jobs: readonly string[]; stats: StatsView }> {
    const jobs = await this.deployShow.begin();
    return { jobs, stats: await this.stats.after('The deploy continues.') };
  }

  /** Enqueues jobs of a big tenant and of a small one, as `GET /live` shows. Returns the jobs of the small one. */
  @Post('tenants')
  @HttpCode(200)
  async tenants(): Promise<{ jobs: readonly string[]; stats: StatsView }> {
    const jobs = await this.tenantsShow.begin();
    return { jobs, stats: await this.stats.after('The tenants take turns.') };
  }
}
