// The same modules as an application context: handlers, no HTTP. Start as many of these as there is work for.
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const app = await NestFactory.createApplicationContext(AppModule);
app.enableShutdownHooks(['SIGINT', 'SIGTERM'], { useProcessExit: true });
new Logger('Worker').log(`Working, process ${process.pid}`);
