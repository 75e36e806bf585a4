import { Get, NotFoundException, Param, Req, Res, StreamableFile, Injectable } from '@nestjs/common';
import type { DashboardRequest } from '../dashboard-options.js';
import { Responder } from '../api/responder.js';
import { header } from '../security/request-facts.js';
import { Permissions } from '../security/permissions.js';
import { SECURITY_HEADERS } from '../security/security-headers.js';
import { Assets } from './assets.js';

const A_YEAR = 'public, max-age=31536000, immutable';

/** Serves the page and its files. The address of a view is in the fragment, so one page is enough. */
@Injectable()
export class PageController {
  constructor(
    private readonly assets: Assets,
    private readonly responder: Responder,
    private readonly permissions: Permissions,
  ) {}

  @Get()
  async page(@Req() request: DashboardRequest & { originalUrl?: string; url: string }, @Res() response: unknown) {
    await this.permissions.require('view', request);
    // Relative, because a proxy may have taken a part off the front of the path.
    const path = (request.originalUrl ?? request.url).split('?')[0]!;
    const base = path.endsWith('/') ? './' : `./${path.slice(path.lastIndexOf('/') + 1)}/`;
    const html = this.assets.get('index.html')!.plain.toString().replaceAll('__BASE__', base);
    this.responder.send(response, 200, new StreamableFile(Buffer.from(html)), {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      ...SECURITY_HEADERS,
    });
  }

  /** Serves a file. Its name holds a hash of its content, so it never changes. */
  @Get('assets/:name')
  asset(@Param('name') name: string, @Req() request: DashboardRequest, @Res() response: unknown): void {
    const asset = this.assets.get(`assets/${name}`);
    if (!asset) {
      throw new NotFoundException();
    }
    const zipped = /\bgzip\b/.test(header(request, 'accept-encoding') ?? '');
    this.responder.send(response, 200, new StreamableFile(zipped ? asset.gzipped : asset.plain), {
      'Content-Type': asset.type,
      'Cache-Control': A_YEAR,
      Vary: 'Accept-Encoding',
      ...(zipped && { 'Content-Encoding': 'gzip' }),
      ...SECURITY_HEADERS,
    });
  }
}
