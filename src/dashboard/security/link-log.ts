import { Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost, ModuleRef } from '@nestjs/core';
import type { AddressInfo } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { containerOf } from '../../nest/context/container-of.js';
import { LinkGuard } from './link-guard.js';

/** Logs the link to a dashboard without a guard once the app listens. */
@Injectable()
export class LinkLog {
  private readonly logger = new Logger('JobQueueDashboard');

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly ref: ModuleRef,
  ) {}

  /** @param path the path of the dashboard, after a global prefix */
  announce(path: string): void {
    this.host.listen$.subscribe(() => {
      this.logger.warn(
        `The dashboard at /${path} has no guard. Only this link opens it: ${LinkGuard.linkTo(this.addressOf(path))} ` +
          'Set `guards` of JobQueueDashboardModule.forRoot for other users.',
      );
    });
  }

  private addressOf(path: string): string {
    const server = this.host.httpAdapter.getHttpServer() as TlsServer;
    const { address, port } = server.address() as AddressInfo;
    const isAny = address === '::' || address === '0.0.0.0';
    const name = isAny ? 'localhost' : address.includes(':') ? `[${address}]` : address;
    const prefix = (containerOf(this.ref).applicationConfig?.getGlobalPrefix() ?? '').replaceAll(/^\/|\/$/g, '');
    const scheme = server instanceof TlsServer ? 'https' : 'http';
    return `${scheme}://${name}:${port}/${prefix && `${prefix}/`}${path.replace(/^\//, '')}`;
  }
}
