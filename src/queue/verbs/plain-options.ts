/** The texts of a job that an encrypted queue stores in the clear. They name the job and its ties. */
export const PLAIN_OPTIONS = {
  id: true,
  name: true,
  key: true,
  group: true,
  metadata: true,
  after: true,
  batch: true,
  addedBy: true,
  queue: true,
  request: true,
  payloadId: true,
  afterRefusal: true,
} as const;
