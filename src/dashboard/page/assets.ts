import { Injectable } from '@nestjs/common';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
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
