/**
 * Within how many ms work goes on after a fault. In CI three files of tests share two cores, and most of these start
 * several servers: there it may be twice as long.
 */
export const BACK_MS = process.env.CI ? 4_000 : 2_000;
