import type { AddressInfo } from 'node:net';
import { callbackify } from 'node:util';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { Storage } from '../storage/storage.js';

/** An SMTP server that keeps the shop's mail, so that the example needs no mail provider. */
@Injectable()
export class MailServer implements OnModuleInit, OnApplicationShutdown {
  private readonly server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: callbackify((stream: SMTPServerDataStream, _session: SMTPServerSession) => this.receive(stream)),
  });

  constructor(private readonly storage: Storage) {}

  get port(): number {
    return (this.server.server.address() as AddressInfo).port;
  }

  onModuleInit(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(0, '127.0.0.1', resolve);
    });
  }

  /** Closes the server. The workers are drained by now, so no job sends mail. */
  onApplicationShutdown(): Promise<void> {
    return new Promise((resolve) => this.server.close(resolve));
  }

  private async receive(stream: SMTPServerDataStream): Promise<void> {
    const mail = await simpleParser(stream);
    const id = /^<([\w-]+)@/.exec(mail.messageId ?? '')?.[1];
    if (id === undefined) {
      throw new Error('550 expected a Message-ID <ID@…>');
    }
    const kept = {
      id,
      from: mail.from?.text,
      to: [mail.to].flat().map((address) => address?.text)[0],
      subject: mail.subject,
      text: mail.text,
      receivedAt: new Date(),
    };
    await this.storage.write('mails', `${id}.json`, JSON.stringify(kept));
  }
}
