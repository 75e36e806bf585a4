import { ConsoleLogger } from '@nestjs/common';

/** Who tells of each module and each route at the boot: among so many lines the shop's URL would be lost. */
const TALKATIVE = ['InstanceLoader', 'RoutesResolver', 'RouterExplorer'];

/** Nest's own logger, for this process and, through it, for the worker processes. */
export class ShopLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!TALKATIVE.includes(String(rest.at(-1)))) super.log(message, ...rest);
  }
}
