// The same modules as an application context: handlers, no HTTP. Start as many of these as there is work for.
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const app = await NestFactory.createApplicationContext(AppModule);
app.enableShutdownHooks(['SIGINT', 'SIGTERM'], { useProcessExit: true });
