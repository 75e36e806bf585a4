import { ConsoleLogger } from '@nestjs/common';

/** Loggers of each module and route at boot, whose lines would hide the shop's URL. */
const TALKATIVE = ['InstanceLoader', 'RoutesResolver', 'RouterExplorer'];

/** Nest's own logger, for this process and, through it, for the worker processes. */
export class ShopLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!TALKATIVE.includes(String(rest.at(-1)))) super.log(message, ...rest);
  }
}
