import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { getJob } from 'nest-job-queue';
import { Practices } from './practice.js';

/** Lets only jobs of a known practice through; any other fails without a retry. */
@Injectable()
export class PracticeGuard implements CanActivate {
  constructor(private readonly practices: Practices) {}

  canActivate(context: ExecutionContext): boolean {
    return this.practices.find(getJob(context).metadata.practice) !== undefined;
  }
}
