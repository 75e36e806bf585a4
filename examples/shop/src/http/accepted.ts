/** The body of a 202: the job's id, and where to look for the job and for what it makes. */
export interface Accepted {
  id: string;
  job: string;
  output: string;
}

export function accepted(id: string, folder: string): Accepted {
  return { id, job: `/jobs/${id}`, output: `/${folder}/${id}` };
}
