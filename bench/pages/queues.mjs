/** The queues of the app: all but the first are empty. */
export const QUEUES = ['large', ...Array.from({ length: 9 }, (_, i) => `quiet-${i + 1}`)];
