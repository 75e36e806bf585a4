import { ConsoleLogger } from '@nestjs/common';

/** Loggers of each module and route at boot, and of each process, whose lines would hide the shop's URL. */
const TALKATIVE = ['InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestFactory', 'NestApplication'];

/** The library's loggers. Their lines at boot repeat the printed text. Only a stop is logged, because it may take seconds. */
const LIBRARY = /^JobQueue( |$)/;

/** Nest's own logger, for this process and, through it, for the worker processes. */
export class ShopLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    const context = String(rest.at(-1));
    if (TALKATIVE.includes(context)) return;
    if (LIBRARY.test(context) && !String(message).includes('Stopping: ')) return;
    super.log(message, ...rest);
  }
}
