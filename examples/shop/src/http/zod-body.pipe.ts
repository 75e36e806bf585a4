import { BadRequestException, type PipeTransform } from '@nestjs/common';
import { z } from 'zod';

/** Checks a request's body: `@Body(new ZodBody(schema))`. */
export class ZodBody<Schema extends z.ZodType> implements PipeTransform<unknown, z.infer<Schema>> {
  constructor(private readonly schema: Schema) {}

  transform(body: unknown): z.infer<Schema> {
    const nested = Object.keys(body ?? {}).find((name) => name.includes('['));
    if (nested !== undefined)
      throw new BadRequestException([`${nested}: expected a field of its own, found a part of one`]);
    // A POST without a body counts as {}, which a schema's defaults fill.
    const checked = this.schema.safeParse(body ?? {});
    if (!checked.success) {
      throw new BadRequestException(
        checked.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`),
      );
    }
    return checked.data;
  }
}
