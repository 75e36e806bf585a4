import { Command } from 'ioredis';

/** Kept here, because the global `Buffer` is a getter that V8 does not inline. */
const { byteLength } = Buffer;

/** What precedes a text of so many bytes, for short ones. */
const SHORT_HEADS = Array.from({ length: 256 }, (_, bytes) => headOf(bytes));

function headOf(bytes: number): string {
  return `\r\n$${bytes}\r\n`;
}

/** A command whose arguments are texts. It writes them in half of the time of ioredis, with fewer concatenations. */
export class TextCommand extends Command {
  private readonly kept: SentTexts | undefined;

  constructor(
    name: string,
    texts: string[],
    options: { replyEncoding: BufferEncoding; errorStack: Error | undefined },
    kept?: SentTexts,
  ) {
    super(name, [], options);
    this.args = texts;
    this.kept = kept;
  }

  override toWritable(): string | Buffer {
    return this.kept ? this.kept.bytesOf(() => this.written()) : this.written();
  }

  private written(): string {
    const { name, args } = this;
    let written = `*${args.length + 1}\r\n$${name.length}\r\n${name}`;
    for (const text of args as string[]) {
      const bytes = byteLength(text);
      written += (SHORT_HEADS[bytes] ?? headOf(bytes)) + text;
    }
    return `${written}\r\n`;
  }
}

/** The texts of a call, and their bytes. A call with thousands of keys keeps them, because it is sent again and again. */
export class SentTexts {
  private built: { readonly script: string; readonly texts: string[] } | undefined;
  private bytes: string | Buffer | undefined;

  /** Returns the texts of the call of this script, or text of a script. */
  of(script: string, build: () => string[]): string[] {
    if (this.built?.script !== script) {
      this.built = { script, texts: build() };
      this.bytes = undefined;
    }
    return this.built.texts;
  }

  /** Returns the bytes of a command with these texts. */
  bytesOf(written: () => string): string | Buffer {
    this.bytes ??= Buffer.from(written());
    return this.bytes;
  }
}
