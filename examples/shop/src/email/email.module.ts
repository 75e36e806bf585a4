import { Module } from '@nestjs/common';
import { EmailController } from './email.controller.js';
import { EmailHandler } from './email.handler.js';
import { Mailer } from './mailer.js';
import { MailServer } from './mail-server.js';

@Module({ controllers: [EmailController], providers: [EmailHandler, Mailer, MailServer] })
export class EmailModule {}
