import { Body, Controller, Post } from '@nestjs/common';
import { BillingService, type Treatment } from './billing.service.js';

@Controller('treatments')
export class BillingController {
  constructor(private readonly billing: BillingService) {}

  @Post()
  bill(@Body() treatment: Treatment) {
    return this.billing.bill(treatment);
  }
}
