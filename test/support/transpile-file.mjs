// Transpiles one TypeScript file of tests or sources; `npm run typecheck` finds the type errors.
import { transformSync } from 'rolldown/utils';

const options = {
  tsconfig: false,
  target: 'es2022',
  sourcemap: true,
  // As in tsconfig.json: Nest injects by the types that decorators emit.
  decorator: { legacy: true, emitDecoratorMetadata: true },
};

export function transpile(path, source) {
  const { code, map, errors } = transformSync(path, source, options);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  return { code, map };
}
