// The work of a job in a thread: it fails.
export default function fail() {
  throw new Error('in a thread');
}
