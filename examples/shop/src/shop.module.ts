import { Module } from '@nestjs/common';
import { AppModule } from './app.module.js';
import { ControlModule } from './control/control.module.js';

/** The app as `main.ts` serves it: with the control page. */
@Module({ imports: [AppModule, ControlModule] })
export class ShopModule {}
