// The same modules without HTTP: the handlers, in a supervised process. The control page starts as many of these as it
// is told to; by hand (npm run start:worker) this is one more, with a supervisor of its own.
import { runWorkers } from 'nest-job-queue/workers';
import { AppModule } from './app.module.js';
import { ownFolder } from './storage/own-folder.js';

ownFolder();
await runWorkers(AppModule, { processes: 1 });
