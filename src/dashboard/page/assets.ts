import { Injectable } from '@nestjs/common';
import { gunzipSync } from 'node:zlib';
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

function load({ type, gzip }: UiFile): Asset {
  const gzipped = Buffer.from(gzip, 'base64');
  return { type, gzipped, plain: gunzipSync(gzipped) };
}
