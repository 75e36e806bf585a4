import { Module } from '@nestjs/common';
import { InvoiceController } from './invoice.controller.js';
import { InvoiceHandler } from './invoice.handler.js';

@Module({ controllers: [InvoiceController], providers: [InvoiceHandler] })
export class InvoiceModule {}
