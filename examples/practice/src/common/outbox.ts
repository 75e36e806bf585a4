import { Injectable, Logger } from '@nestjs/common';
import { GatewayBusy } from './errors.js';

/** A message that left the app. */
export interface Sent {
  by: 'mail' | 'sms';
  from: string;
  to: string;
  text: string;
}

/** Sends mail and text messages; here it keeps them. */
@Injectable()
export class Outbox {
  readonly sent: Sent[] = [];
  /** The number of times the gateway reports that it is busy. */
  busyFor = 0;
  private readonly logger = new Logger(Outbox.name);

  send(message: Sent): string {
    if (this.busyFor > 0) {
      this.busyFor--;
      throw new GatewayBusy(30_000);
    }
    this.logger.log(`Sent ${message.by} to ${message.to}`);
    return `message ${this.sent.push(message)}`;
  }
}
