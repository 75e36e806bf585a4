// A library of two-copies.mjs, in CommonJS.
const { Inject } = require('@nestjs/common');
const { JobHandler, JobQueueService } = require('nest-job-queue');

class Shared {
  constructor(jobs) {
    this.jobs = jobs;
  }
  handle() {
    return this.jobs.queueNames();
  }
}
Inject(JobQueueService)(Shared, undefined, 0);
JobHandler('shared')(Shared);
exports.Shared = Shared;
