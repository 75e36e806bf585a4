// The same modules without HTTP: the handlers, in a supervised process. The control page starts and stops these
// processes. `npm run start:worker` adds one by hand, with its own supervisor.
import { runWorkers } from 'nest-job-queue/workers';
import { AppModule } from './app.module.js';
import { ownFolder } from './storage/own-folder.js';

ownFolder();
await runWorkers(AppModule, { processes: 1 });
