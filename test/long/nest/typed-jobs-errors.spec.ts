// What the compiler says of a payload that does not fit its definition: it names the field.
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from '@jest/globals';
import ts from 'typescript';

const FILE = fileURLToPath(new URL('./typed-jobs-errors.virtual.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const HEAD = `
import { defineJob, type JobQueue, type JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
const SendEmail = defineJob('email', { payload: z.object({ to: z.string() }) });
declare const jobs: JobQueueService;
declare const queue: JobQueue;
`;

const CALLS: [string, RegExp][] = [
  ['jobs.enqueue(SendEmail, { to: 5 })', /^Type 'number' is not assignable to type 'string'/],
  ['queue.enqueue(SendEmail, { to: 5 })', /^Type 'number' is not assignable to type 'string'/],
  ['jobs.enqueue(SendEmail, {})', /Property 'to' is missing in type/],
  ['queue.enqueue(SendEmail, {})', /Property 'to' is missing in type/],
  ["jobs.enqueue(SendEmail, { to: 'ada', cc: 'bob' })", /'cc' does not exist in type/],
  ["queue.enqueue(SendEmail, { to: 'ada', cc: 'bob' })", /'cc' does not exist in type/],
  ['jobs.enqueueMany(SendEmail, [{ payload: { to: 5 } }])', /^Type 'number' is not assignable to type 'string'/],
  ['queue.enqueueMany(SendEmail, [{ payload: { to: 5 } }])', /^Type 'number' is not assignable to type 'string'/],
  ["queue.enqueue('email', { to: 'ada' })", /Name the job by an option: enqueue\(payload, \{ name \}\)/],
];

let said: string[] = [];

beforeAll(() => {
  const text = HEAD + CALLS.map(([call]) => `void ${call};\n`).join('');
  said = CALLS.map(() => '');
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile) as { config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT);
  const host = ts.createCompilerHost({ ...options, noEmit: true });
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) =>
    name === FILE ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2023, true) : read(name, ...rest);
  const exists = host.fileExists.bind(host);
  host.fileExists = (name) => name === FILE || exists(name);
  const program = ts.createProgram([FILE], { ...options, noEmit: true }, host);
  const source = program.getSourceFile(FILE)!;
  const first = HEAD.split('\n').length - 1;
  for (const { start, messageText } of program.getSemanticDiagnostics(source)) {
    const at = source.getLineAndCharacterOfPosition(start!).line - first;
    said[at] += ts.flattenDiagnosticMessageText(messageText, '\n');
  }
}, 180_000);

it.each(CALLS.map(([call, message], i) => [call, message, i] as const))(
  'a payload that does not fit its definition %s',
  (_, message, i) => {
    expect(said[i]).toMatch(message);
    expect(said[i]).not.toContain('JobDefinition');
  },
);
