import { rmSync, writeFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { SafeLogger } from '../queue/errors/safe-logger.js';

/** A file that exists while all is ready, for a probe. */
export class ReadyFile {
  private readonly logger = SafeLogger.of(new Logger('Workers'));

  /** @param path undefined: there is none */
  constructor(private readonly path: string | undefined) {}

  set(exists: boolean): void {
    if (this.path === undefined) {
      return;
    }
    try {
      if (exists) {
        writeFileSync(this.path, '');
      } else {
        rmSync(this.path, { force: true });
      }
    } catch (error) {
      this.logger.error(
        `Could not ${exists ? 'write' : 'delete'} the ready file ${this.path}: ${(error as Error).message}. Check its folder and permissions.`,
      );
    }
  }
}
