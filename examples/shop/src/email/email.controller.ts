import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
import { accepted, type Accepted } from '../http/accepted.js';
import { ZodBody } from '../http/zod-body.pipe.js';
import { Storage } from '../storage/storage.js';

const schema = z.strictObject({
  to: z.email(),
  subject: z.string().min(1).max(200).default('Your order'),
  text: z.string().max(10_000).default('Thank you for your order.'),
});

@Controller('mails')
export class EmailController {
  constructor(
    private readonly jobs: JobQueueService,
    private readonly storage: Storage,
  ) {}

  @Post()
  @HttpCode(202)
  async send(@Body(new ZodBody(schema)) mail: z.infer<typeof schema>): Promise<Accepted> {
    const job = await this.jobs.enqueue('email', mail);
    return accepted(job.id, 'mails');
  }

  /** Returns the newest mails that arrived. */
  @Get()
  async list(): Promise<unknown[]> {
    const names = await this.storage.list('mails');
    return Promise.all(names.map((name) => this.read(name)));
  }

  @Get(':id')
  one(@Param('id') id: string): Promise<unknown> {
    return this.read(`${id}.json`);
  }

  private async read(name: string): Promise<unknown> {
    return JSON.parse((await this.storage.read('mails', name)).toString());
  }
}
