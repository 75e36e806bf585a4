// @JobPayload and @JobRef with pipes: class-validator, a Standard Schema, and pipes of one's own.
import {
  createParamDecorator,
  Injectable,
  ParseIntPipe,
  UsePipes,
  ValidationPipe,
  type ArgumentMetadata,
  type ExecutionContext,
  type PipeTransform,
} from '@nestjs/common';
import * as common from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { IsEmail, IsInt } from 'class-validator';
import { z } from 'zod';
import { getJob, JobHandler, JobPayload, JobQueueService, JobRef, type Job } from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, onEachStore, startApp, type TestApp } from '../app.js';

class EmailDto {
  @IsEmail()
  to!: string;

  @IsInt()
  size!: number;
}

async function runOne(name: string, app: TestApp, payload: unknown): Promise<unknown> {
  const started = await startApp(app);
  const job = await started.get(JobQueueService).enqueue(name, payload, { backoff: 0 });
  return job.result().catch((error: unknown) => error);
}

function handler(name: string) {
  @JobHandler(name, { maxAttempts: 5 })
  class Handler {
    handle(@JobPayload(new ValidationPipe({ transform: true })) email: EmailDto, @JobRef() job: Job) {
      return [email instanceof EmailDto, email.to, job.name === name];
    }
  }
  return Handler;
}

onEachStore('@JobPayload with a ValidationPipe', () => {
  it('gives the handler the DTO, and the job beside it', async () => {
    const name = uniqueQueueName();
    const payload = { to: 'ada@example.com', size: 3 };
    expect(await runOne(name, { providers: [handler(name)] }, payload)).toEqual([true, 'ada@example.com', true]);
  });

  it('fails a bad payload without a retry, and says each fault', async () => {
    const name = uniqueQueueName();
    const error = await runOne(name, { providers: [handler(name)] }, { to: 'ada', size: 'big' });
    expect(error).toMatchObject({
      attempts: 1,
      errorName: 'BadRequestException',
      reason: 'Bad Request Exception: to must be an email; size must be an integer number',
    });
  });

  it('works from the method and from the class', async () => {
    const name = uniqueQueueName();
    const other = uniqueQueueName();
    @Injectable()
    @UsePipes(ValidationPipe)
    class Handlers {
      @JobHandler(name)
      of(@JobPayload() email: EmailDto) {
        return email.to;
      }

      @JobHandler(other)
      @UsePipes(new ValidationPipe({ whitelist: true }))
      strict(@JobPayload() email: EmailDto) {
        return email;
      }
    }
    const app = await startApp({ providers: [Handlers] });
    const jobs = app.get(JobQueueService);
    const bad = await jobs.enqueue(name, { to: 'ada', size: 1 });
    await expect(bad.result()).rejects.toMatchObject({ errorName: 'BadRequestException' });
    const good = await jobs.enqueue(other, { to: 'ada@example.com', size: 1, more: 'away' });
    expect(await good.result()).toEqual({ to: 'ada@example.com', size: 1 });
  });
});

onEachStore('@JobPayload', () => {
  it('gives one field, through its pipe', async () => {
    const name = uniqueQueueName();
    @JobHandler(name, { maxAttempts: 4 })
    class Handler {
      handle(@JobPayload('userId', ParseIntPipe) userId: number) {
        return userId + 1;
      }
    }
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    expect(await (await jobs.enqueue(name, { userId: '41' })).result()).toBe(42);
    const bad = await jobs.enqueue(name, { userId: 'x' });
    await expect(bad.result()).rejects.toMatchObject({ attempts: 1, reason: expect.stringContaining('numeric') });
  });

  it('leaves the first parameter to the job where that is not decorated', async () => {
    const name = uniqueQueueName();
    @JobHandler(name)
    class Handler {
      handle(job: Job, @JobPayload('to') to: string) {
        return [job.attempt, to];
      }
    }
    expect(await runOne(name, { providers: [Handler] }, { to: 'ada' })).toEqual([1, 'ada']);
  });

  it('works beside decorators of createParamDecorator', async () => {
    const name = uniqueQueueName();
    const Tenant = createParamDecorator((_: unknown, context: ExecutionContext) => getJob(context).metadata.tenant);
    @JobHandler(name)
    class Handler {
      handle(@JobPayload() payload: string, @Tenant() tenant: string) {
        return `${payload} of ${tenant}`;
      }
    }
    const app = await startApp({ providers: [Handler] });
    const job = await app.get(JobQueueService).enqueue(name, 'mail', { metadata: { tenant: 'acme' } });
    expect(await job.result()).toBe('mail of acme');
  });

  it('passes a body and its type to pipes', async () => {
    const name = uniqueQueueName();
    const seen: ArgumentMetadata[] = [];
    const pipe: PipeTransform = {
      transform(value: unknown, metadata) {
        seen.push(metadata);
        return value;
      },
    };
    @JobHandler(name)
    class Handler {
      handle(@JobPayload(pipe) email: EmailDto, @JobRef() job: Job) {
        return [email.to, job.attempt];
      }
    }
    await runOne(name, { providers: [Handler] }, { to: 'ada' });
    expect(seen).toMatchObject([{ type: 'body', metatype: EmailDto }]);
  });

  it('takes a pipe that Nest makes, and whose lookup may fail for a while', async () => {
    const name = uniqueQueueName();
    @Injectable()
    class Users {
      asked = 0;
      find(id: string) {
        return ++this.asked === 1 ? Promise.reject(new Error('no database')) : Promise.resolve(`user ${id}`);
      }
    }
    @Injectable()
    class UserPipe implements PipeTransform {
      constructor(private readonly users: Users) {}

      transform(id: string) {
        return this.users.find(id);
      }
    }
    @JobHandler(name)
    class Handler {
      handle(@JobPayload('id', UserPipe) user: string) {
        return user;
      }
    }
    expect(await runOne(name, { providers: [Handler, Users] }, { id: '7' })).toBe('user 7');
  });

  const standard = (common as Record<string, unknown>).StandardSchemaValidationPipe as
    | (new () => PipeTransform)
    | undefined;
  // The pipe came with NestJS 12; on 11 there is nothing to test.
  if (standard) {
    it('takes a Standard Schema', async () => {
      const name = uniqueQueueName();
      const schema = z.object({ to: z.email() });
      const pipes = [new standard()];
      @JobHandler(name, { maxAttempts: 4 })
      class Handler {
        handle(@JobPayload({ schema, pipes }) email: z.infer<typeof schema>) {
          return email.to;
        }
      }
      const app = await startApp({ providers: [Handler] });
      const jobs = app.get(JobQueueService);
      expect(await (await jobs.enqueue(name, { to: 'ada@example.com' })).result()).toBe('ada@example.com');
      const bad = await jobs.enqueue(name, { to: 'ada' });
      await expect(bad.result()).rejects.toMatchObject({ attempts: 1, reason: expect.stringContaining('to: ') });
    });
  }

  it('is asked for where a handler has pipes: without it they would not run', async () => {
    @JobHandler(uniqueQueueName())
    @UsePipes(ValidationPipe)
    class Handler {
      handle(job: Job<EmailDto>) {
        return job.payload.to;
      }
    }
    const app = await compileApp({ providers: [Handler] });
    await expect(app.init()).rejects.toThrow('expected a parameter with @JobPayload() for its pipes, found none.');
  });

  it('is refused with a schema in the place of a pipe, by the compiler too', () => {
    const schema = z.object({ to: z.email() });
    const asFunction = Object.assign(() => undefined, { '~standard': {} });
    const help =
      '@JobPayload: expected pipes, or { schema, pipes }, found a schema. Write @JobPayload({ schema, pipes';
    // @ts-expect-error a schema of zod has a method transform, as a pipe has
    expect(() => JobPayload(schema)).toThrow(help);
    // @ts-expect-error also behind a field
    expect(() => JobPayload('to', schema)).toThrow(help);
    expect(() => JobPayload(asFunction as never)).toThrow(help);
    expect(() => JobPayload({ schema, pipes: [schema as never] })).toThrow(help);
    expect(() => JobPayload({ transfrom: true } as never)).toThrow('found an object with transfrom');
  });

  it.each([[[]], [[ParseIntPipe]], [[new ValidationPipe()]]])(
    'is refused with a schema that no pipe applies, beside %p',
    async (pipes) => {
      const schema = z.object({ to: z.email() });
      @JobHandler(uniqueQueueName())
      class Handler {
        handle(@JobPayload({ schema, pipes }) email: unknown) {
          return email;
        }
      }
      const app = await compileApp({ providers: [Handler] });
      await expect(app.init()).rejects.toThrow(
        'on Handler.handle: expected a pipe that applies the schema of @JobPayload, found none.',
      );
    },
  );

  it('takes a schema that a pipe of the app applies', async () => {
    const name = uniqueQueueName();
    class SchemaPipe implements PipeTransform {
      transform(value: unknown, { type }: ArgumentMetadata) {
        return type === 'body' ? `read ${String(value)}` : value;
      }
    }
    @JobHandler(name)
    class Handler {
      handle(@JobPayload({ schema: z.string() }) text: string) {
        return text;
      }
    }
    const app = await compileApp({ jobs: { globalEnhancers: ['pipes'] }, providers: [Handler] });
    app.useGlobalPipes(new SchemaPipe());
    await app.init();
    expect(await (await app.get(JobQueueService).enqueue(name, 'it')).result()).toBe('read it');
  });

  it('of a static method or a constructor is refused', () => {
    expect(() => {
      class Handler {
        static handle(@JobPayload() payload: unknown) {
          return payload;
        }
      }
      return Handler;
    }).toThrow('@JobPayload: expected a parameter of an instance method');
  });
});
