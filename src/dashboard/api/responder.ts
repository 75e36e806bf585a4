import { HttpException, Injectable, Logger, StreamableFile, type BeforeApplicationShutdown } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import {
  InvalidOptionError,
  InvalidPayloadError,
  JobQueueError,
  RedisUnsuitableError,
} from '../../queue/errors/errors.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import { ToldErrors } from '../told-errors.js';
import type { TextFile } from '../views/job-file.js';
import type { ProblemView } from '../views/views.js';

/**
 * Sends every answer through Nest's HTTP adapter. A returned value would pass the app's global interceptors, which may
 * change its form for the page.
 */
@Injectable()
export class Responder implements BeforeApplicationShutdown {
  private readonly logger = SafeLogger.of(new Logger('JobQueueDashboard'));
  private closing = false;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly told: ToldErrors,
  ) {}

  /** Ends each connection with its answer from now on, because a polling page would delay the end of the app. */
  beforeApplicationShutdown(): void {
    this.closing = true;
  }

  /** Sends what `work` returns as JSON, or its error with a matching status. */
  async json(response: unknown, work: () => unknown): Promise<void> {
    let status = 200;
    let body: unknown;
    try {
      body = await work();
    } catch (error) {
      [status, body] = this.problem(error);
    }
    this.send(response, status, body);
  }

  /** Sends what `work` returns as a file to save, or its error as JSON. */
  async file(response: unknown, work: () => Promise<TextFile>): Promise<void> {
    let file: TextFile;
    try {
      file = await work();
    } catch (error) {
      await this.json(response, () => Promise.reject(error));
      return;
    }
    this.send(response, 200, new StreamableFile(Buffer.from(file.text)), {
      'Content-Type': `${file.type}; charset=utf-8`,
      'Content-Disposition': `attachment; filename="${file.name.replaceAll(/[^\w.-]+/g, '_')}"`,
    });
  }

  /** Sends a response. The guard has set the headers that all responses have. */
  send(response: unknown, status: number, body: unknown, headers: Record<string, string> = {}): void {
    const { httpAdapter } = this.host;
    const closing = this.closing ? { Connection: 'close' } : {};
    for (const [name, value] of Object.entries({ ...headers, ...closing })) {
      httpAdapter.setHeader(response, name, value);
    }
    httpAdapter.reply(response, body, status);
  }

  private problem(error: unknown): [status: number, body: ProblemView] {
    if (error instanceof HttpException) {
      return [error.getStatus(), problemOf('refused', error.message)];
    }
    if (error instanceof RedisUnsuitableError) {
      return [503, problemOf('redis-away', this.told.tell(error))];
    }
    if (error instanceof InvalidOptionError || error instanceof InvalidPayloadError) {
      const subject = error instanceof InvalidOptionError ? error.subject : error.path;
      return [400, { error: { code: 'invalid', message: error.message, subject } }];
    }
    if (error instanceof JobQueueError) {
      return [409, problemOf(error.name, this.told.tell(error))];
    }
    this.logger.error('The dashboard failed to handle a request', error);
    return [500, problemOf('internal', 'The dashboard failed; the log of the app says why.')];
  }
}

function problemOf(code: string, message: string): ProblemView {
  return { error: { code, message } };
}
