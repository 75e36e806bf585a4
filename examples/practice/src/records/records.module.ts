import { Module } from '@nestjs/common';
import { RecordHandlers, Records } from './record.handlers.js';

@Module({ providers: [Records, RecordHandlers] })
export class RecordsModule {}
