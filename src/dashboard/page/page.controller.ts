import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { Injectable, NotFoundException, StreamableFile } from '@nestjs/common';
import { Responder, Routes, Serves } from '../api/route.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { accepts } from '../security/access.guard.js';
import { UI_FILES, type UiFile } from './ui.generated.js';

/** A file of the page. Each form is made when a client first asks for it. */
class Asset {
  readonly type: string;
  /** The form of the package. Browsers take it over TLS only. */
  readonly br: Buffer;
  private unpacked: Buffer | undefined;
  private zipped: Buffer | undefined;

  constructor({ type, brotli }: UiFile) {
    this.type = type;
    this.br = Buffer.from(brotli, 'base64');
  }

  get plain(): Buffer {
    return (this.unpacked ??= brotliDecompressSync(this.br));
  }

  get gzip(): Buffer {
    return (this.zipped ??= gzipSync(this.plain, { level: 9 }));
  }
}

/** The built files of the page. They are part of the code, so that every bundler and both module formats find them. */
@Injectable()
export class Assets {
  private readonly loaded = new Map<string, Asset>();

  get(name: string): Asset | undefined {
    const known = this.loaded.get(name);
    const file = Object.hasOwn(UI_FILES, name) ? UI_FILES[name] : undefined;
    if (known || !file) {
      return known;
    }
    const asset = new Asset(file);
    this.loaded.set(name, asset);
    return asset;
  }
}

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
