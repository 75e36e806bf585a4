import { z } from 'zod';

const flag = z.boolean({ error: 'expected true or false' }).default(false);

/** The options of an audit, checked. */
export const doctorSchema = z.strictObject(
  { repair: flag, exclusive: flag },
  { error: 'expected an object with repair, exclusive' },
);
