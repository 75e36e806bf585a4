import { Injectable } from '@nestjs/common';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { UI_FILES, type UiFile } from './ui.generated.js';

/** A file of the page, plain and compressed. */
interface Asset {
  type: string;
  gzipped: Buffer;
  plain: Buffer;
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
    const asset = load(file);
    this.loaded.set(name, asset);
    return asset;
  }
}

/** Compresses the file again, because the package has it in a smaller form that browsers take only over TLS. */
function load({ type, brotli }: UiFile): Asset {
  const plain = brotliDecompressSync(Buffer.from(brotli, 'base64'));
  return { type, gzipped: gzipSync(plain, { level: 9 }), plain };
}
