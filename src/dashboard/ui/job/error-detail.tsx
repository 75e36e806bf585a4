import { CopyButton } from '../parts/copy.js';
import { spelled } from '../parts/format.js';
import type { StoredErrorView } from '../../views/views.js';

/** The greatest depth of causes that is shown. */
const DEEPEST = 8;

/** Shows an error with its stack, then its causes, then the errors that it gathers. */
export function ErrorDetail({ error, depth = 0 }: { error: StoredErrorView; depth?: number }) {
  const { cause, errors } = error;
  const text = error.stack ?? `${error.name}: ${error.message}`;
  return (
    <>
      <CopyButton text={text} title="Copy the error">
        Copy
      </CopyButton>
      <pre class="text" tabIndex={0}>
        {spelled(text)}
      </pre>
      {depth < DEEPEST && cause && <Caused title="Caused by" error={cause} depth={depth} />}
      {depth < DEEPEST &&
        errors?.map((each, i) => <Caused key={i} title={`Error ${i + 1}`} error={each} depth={depth} />)}
    </>
  );
}

function Caused({ title, error, depth }: { title: string; error: StoredErrorView; depth: number }) {
  return (
    <div class="cause">
      <p class="quiet">{title}</p>
      <ErrorDetail error={error} depth={depth + 1} />
    </div>
  );
}
