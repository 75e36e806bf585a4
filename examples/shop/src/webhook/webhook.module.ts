import { Module } from '@nestjs/common';
import { ReceiverController } from './receiver.controller.js';
import { WebhookController } from './webhook.controller.js';
import { WebhookHandler } from './webhook.handler.js';

@Module({ controllers: [ReceiverController, WebhookController], providers: [WebhookHandler] })
export class WebhookModule {}
