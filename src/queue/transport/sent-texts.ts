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
