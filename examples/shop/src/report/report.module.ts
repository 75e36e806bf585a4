import { Module } from '@nestjs/common';
import { ReportController } from './report.controller.js';
import { ReportHandler } from './report.handler.js';

@Module({ controllers: [ReportController], providers: [ReportHandler] })
export class ReportModule {}
