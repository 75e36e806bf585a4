import {
  Controller,
  Headers,
  HttpCode,
  Post,
  Req,
  ServiceUnavailableException,
  UnauthorizedException,
  type RawBodyRequest,
} from '@nestjs/common';
import type { Request } from 'express';
import { z } from 'zod';
import { Storage } from '../storage/storage.js';
import { isSigned } from './signature.js';

const schema = z.object({
  id: z.string(),
  event: z.string(),
  data: z.unknown(),
  attempt: z.number(),
  failTimes: z.number(),
});

/** The other side of a webhook; in a real app it is another server. */
@Controller('webhooks/receiver')
export class ReceiverController {
  constructor(private readonly storage: Storage) {}

  @Post()
  @HttpCode(204)
  async receive(
    @Req() request: RawBodyRequest<Request>,
    @Headers('x-shop-signature') signature?: string,
  ): Promise<void> {
    const raw = request.rawBody ?? Buffer.alloc(0);
    if (!isSigned(raw, signature)) {
      throw new UnauthorizedException('x-shop-signature does not sign this body');
    }
    const { failTimes, ...delivery } = schema.parse(request.body);
    if (delivery.attempt <= failTimes) {
      throw new ServiceUnavailableException(`refused ${delivery.attempt} of ${failTimes} times, as asked`);
    }
    const kept = { ...delivery, signature, body: raw.toString(), receivedAt: new Date() };
    await this.storage.write('webhooks', `${delivery.id}.json`, JSON.stringify(kept));
  }
}
