import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { AudioProcessor } from './audio.processor.js';
import { ImageProcessor } from './image.processor.js';
import { Journal } from './journal.js';
import { MailProcessor } from './mail.processor.js';
import { Producer } from './producer.js';
import { Queues } from './queues.js';

@Module({
  imports: [
    BullModule.forRoot({
      connection: { host: '127.0.0.1', port: Number(process.env['REDIS_PORT']) },
    }),
    BullModule.registerQueue({ name: Queues.Audio }, { name: Queues.Image }, { name: Queues.Mail }),
  ],
  providers: [AudioProcessor, ImageProcessor, MailProcessor, Journal, Producer],
})
export class AppModule {}
