/** The body of a 202: the job's id, and the URLs of the job and of its output. */
export interface Accepted {
  id: string;
  job: string;
  output: string;
}

export function accepted(id: string, folder: string): Accepted {
  return { id, job: `/jobs/${id}`, output: `/${folder}/${id}` };
}
