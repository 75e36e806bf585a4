import { Module } from '@nestjs/common';
import { OtherHandler } from './other.handler.js';

@Module({ providers: [OtherHandler] })
export class OtherModule {}
