// A library in CommonJS injects the service that an app of ES modules provides.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueModule, JobQueueService } from 'nest-job-queue';
import shared from './shared.cjs';

class App {}
Module({ imports: [JobQueueModule.forRoot()], providers: [shared.Shared] })(App);
const app = await NestFactory.createApplicationContext(App, { logger: false });
console.log(JSON.stringify(await (await app.get(JobQueueService).enqueue('shared', {})).result()));
await app.close();
