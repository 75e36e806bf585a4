import { runWorkers } from 'nest-job-queue/workers';
import { AppModule } from './app.module.js';

await runWorkers(AppModule, { processes: 2, restartDelayMs: 100 });
