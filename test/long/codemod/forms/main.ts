import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { untilIdle } from './base.js';
import { Journal } from './journal.js';
import { Images, MailService, Orders, Saves } from './services.js';

/** The lines of all mails. */
const MAILS = 32;

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
await app.init();
const journal = app.get(Journal);
const [images, mails, orders, saves] = [app.get(Images), app.get(MailService), app.get(Orders), app.get(Saves)];
await mails.ready();
await mails.all();

// A page may be saved again once it is saved, however often, and broken ones too.
for (let i = 1; i <= 5; i++) {
  await saves.save('often');
  await journal.until('saves', i);
  await untilIdle([saves]);
}
for (let i = 1; i <= 2; i++) {
  await saves.save('broken');
  await journal.until('saves', 5 + i);
  await untilIdle([saves]);
}
// While one waits, no other one is added.
for (let i = 0; i < 5; i++) await saves.save('delayed', 300);
await journal.until('saves', 8);
await untilIdle([saves]);

await orders.orders.pause();
await orders.ranked();
await orders.orders.resume();

await images.queue.pause();
await images.stacked();
const look = await images.look();
await images.queue.resume();

const lines = {
  mails: (await journal.until('mails', MAILS)).toSorted(),
  then: journal.of('then'),
  saves: journal.of('saves'),
  ranked: await journal.until('ranked', 3),
  images: await journal.until('images', 3),
};
console.log(JSON.stringify({ lines, look }, undefined, 2));
await app.close();
process.exit();
