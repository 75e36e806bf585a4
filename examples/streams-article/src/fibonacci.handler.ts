import { JobHandler } from 'nest-job-queue';
import { Fibonacci } from './jobs.js';

// Seconds of pure calculation: in a thread they hold up no heartbeat and no other job.
@JobHandler(Fibonacci, { thread: new URL('./fibonacci.worker.js', import.meta.url) })
export class FibonacciHandler {}
