import { Injectable } from '@nestjs/common';
import { createTransport } from 'nodemailer';
import { MailServer } from './mail-server.js';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  messageId: string;
}

@Injectable()
export class Mailer {
  constructor(private readonly server: MailServer) {}

  async send(mail: Mail): Promise<{ messageId: string; response: string }> {
    const transport = createTransport({ host: '127.0.0.1', port: this.server.port, ignoreTLS: true });
    const { messageId, response } = await transport.sendMail({ from: 'shop@shop.example', ...mail });
    return { messageId, response };
  }
}
