// The same modules as an application context: handlers, no HTTP. Start as many of these as there is work for.
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { tell } from './trouble/trouble.js';

// A worker of the control page's pool ends with the shop that started it, however that ends.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

const app = await NestFactory.createApplicationContext(AppModule);
app.enableShutdownHooks(['SIGINT', 'SIGTERM'], { useProcessExit: true });
await tell({ type: 'ready' });
