import { Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { Server as TlsServer } from 'node:tls';
import { containerOf } from '../../nest/context/container-of.js';
import type { ResolvedMount } from '../dashboard-options.js';
import { LinkGuard } from './link-guard.js';

/** Logs the link to a dashboard without a guard once the app listens. */
@Injectable()
export class LinkLog {
  private readonly logger = new Logger('JobQueueDashboard');

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly ref: ModuleRef,
  ) {}

  /** @param prefix the global prefix of the app before the path of the dashboard */
  announce({ path, decorators }: ResolvedMount, prefix: string): void {
    const parts = [prefix, path].map((part) => part.replaceAll(/^\/|\/$/g, '')).filter(Boolean);
    this.host.listen$.subscribe(() => {
      const link = `Only this link opens it: ${LinkGuard.linkTo(`${this.origin()}/${parts.join('/')}`)}`;
      const others = this.globalGuards();
      const remedy = 'Mark the dashboard for them, such as by `decorators: [Public()]`, or set its `guards`.';
      this.logger.warn(
        others.length === 0
          ? `The dashboard at /${parts.join('/')} has no guard. ${link} Set \`guards\` of JobQueueDashboardModule.forRoot for other users.`
          : `The dashboard at /${parts.join('/')} has no guard of its own. ${link} The app's global guards decide ` +
              `before the link: ${others.join(', ')}. They may refuse it.${decorators.length === 0 ? ` ${remedy}` : ''}`,
      );
    });
  }

  /** Returns the names of the guards that run before those of the dashboard. */
  private globalGuards(): string[] {
    const { applicationConfig: config } = containerOf(this.ref);
    const names = [
      ...(config?.getGlobalGuards() ?? []).map((guard) => guard.constructor.name),
      ...(config?.getGlobalRequestGuards() ?? []).map(({ metatype, name }) => metatype?.name ?? String(name)),
    ];
    return [...new Set(names)].filter((name) => name !== LinkGuard.name);
  }

  private origin(): string {
    const server = this.host.httpAdapter.getHttpServer() as TlsServer;
    const scheme = server instanceof TlsServer ? 'https' : 'http';
    const bound = server.address();
    if (bound === null || typeof bound === 'string') {
      return `${scheme}://localhost`; // a socket file, behind a proxy
    }
    const { address, port } = bound;
    const isAny = address === '::' || address === '0.0.0.0';
    const name = isAny ? 'localhost' : address.includes(':') ? `[${address}]` : address;
    return `${scheme}://${name}:${port}`;
  }
}
