import { Injectable, NotFoundException, StreamableFile } from '@nestjs/common';
import type { DashboardRequest } from '../dashboard-options.js';
import { Responder } from '../api/responder.js';
import { Routes, Serves } from '../api/route.js';
import { accepts } from '../security/request-facts.js';
import { Assets } from './assets.js';

/** The codings of files, the smallest first. */
const CODINGS = ['br', 'gzip'] as const;
const A_YEAR = 'public, max-age=31536000, immutable';

/** Serves the page and its files. The address of a view is in the fragment, so one page is enough. */
@Injectable()
export class PageController extends Routes {
  constructor(
    private readonly assets: Assets,
    private readonly responder: Responder,
  ) {
    super();
  }

  @Serves('', [{ action: 'view' }])
  page(request: DashboardRequest & { originalUrl?: string; url: string }, response: unknown): void {
    // Relative, because a proxy may have taken a part off the front of the path.
    const path = (request.originalUrl ?? request.url).split('?')[0]!;
    const base = path.endsWith('/') ? './' : `./${path.slice(path.lastIndexOf('/') + 1)}/`;
    const html = this.assets.get('index.html')!.plain.toString().replaceAll('__BASE__', base);
    this.responder.send(response, 200, new StreamableFile(Buffer.from(html)), {
      'Content-Type': 'text/html; charset=utf-8',
    });
  }

  /** Serves a file. Its name holds a hash of its content, so it never changes. */
  @Serves('assets/:name', [])
  asset(request: DashboardRequest & { params: { name: string } }, response: unknown): void {
    const asset = this.assets.get(`assets/${request.params.name}`);
    if (!asset) {
      throw new NotFoundException();
    }
    const coding = CODINGS.find((each) => accepts(request, each));
    this.responder.send(response, 200, new StreamableFile(asset[coding ?? 'plain']), {
      'Content-Type': asset.type,
      'Cache-Control': A_YEAR,
      Vary: 'Accept-Encoding',
      ...(coding && { 'Content-Encoding': coding }),
    });
  }
}
