import { z } from 'zod';

/** True or false, and nothing that is like them. */
export const flag = z.boolean({ error: 'expected true or false' });
