import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Journal } from './journal.js';
import { Producer } from './producer.js';

/** The lines of a whole run. */
const LINES = 15;

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
await app.init();
const producer = app.get(Producer);
await producer.produce();
const lines = await app.get(Journal).all(LINES);
console.log(JSON.stringify({ lines, outcome: await producer.outcome() }, undefined, 2));
await app.close();
process.exit();
