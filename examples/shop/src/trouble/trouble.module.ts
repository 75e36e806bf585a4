import { Global, Module } from '@nestjs/common';
import { Trouble } from './trouble.js';

@Global()
@Module({ providers: [Trouble], exports: [Trouble] })
export class TroubleModule {}
