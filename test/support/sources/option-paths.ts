// The options of each entry point of the package, from the types of what its barrels export.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type TypeScript from 'typescript';

const ts = createRequire(import.meta.url)('typescript') as typeof TypeScript;
const SRC = fileURLToPath(new URL('../../../src/', import.meta.url));
const DEEPEST = 2;

/** No library of a browser, which is larger than our sources. */
const OPTIONS: TypeScript.CompilerOptions = {
  strict: true,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts'],
  experimentalDecorators: true,
  types: ['node'],
};

/** Returns the barrel of each entry point: the files right in `src`. */
const barrels = (): string[] => ts.sys.readDirectory(SRC, ['.ts'], undefined, undefined, 1);

/**
 * Returns the paths of the options of each entry point, by its name: `JobQueueModule.forRoot` has `queues.*.codec`. These are
 * the exported functions, constructors and static methods. Errors are left out, and so is what has no options.
 */
export function optionPaths(): Map<string, string[]> {
  const program = ts.createProgram(barrels(), OPTIONS, hostOfSources());
  const checker = program.getTypeChecker();
  const found = new Map<string, string[]>();

  /** Returns the parts of a type that are options: objects of interfaces and literals of ours, no instances. */
  const objectsIn = (type: TypeScript.Type): TypeScript.Type[] => {
    if (type.isUnionOrIntersection()) return type.types.flatMap(objectsIn);
    const of = checker.getBaseConstraintOfType(type) ?? type;
    if (of !== type) return objectsIn(of);
    const isOurs = of.symbol?.declarations?.some((each) => each.getSourceFile().fileName.startsWith(SRC));
    const isCalled = of.getCallSignatures().length > 0 || of.getConstructSignatures().length > 0;
    const isPlain = (of.flags & ts.TypeFlags.Object) !== 0 && !of.isClass() && !isCalled;
    const isMap = of.getStringIndexType() !== undefined || of.aliasSymbol !== undefined;
    return isPlain && (isOurs || isMap) && !checker.isArrayType(of) && !checker.isTupleType(of) ? [of] : [];
  };

  const pathsOf = (type: TypeScript.Type, before: string, depth: number): string[] =>
    objectsIn(type).flatMap((each) => {
      const indexed = each.getStringIndexType();
      const entries: [string, TypeScript.Type][] = each
        .getProperties()
        .map((property) => [property.name, checker.getTypeOfSymbol(property)]);
      if (indexed) entries.push(['*', indexed]);
      return entries.flatMap(([name, inner]) => [
        before + name,
        ...(depth < DEEPEST ? pathsOf(inner, `${before}${name}.`, depth + 1) : []),
      ]);
    });

  const add = (name: string, signatures: readonly TypeScript.Signature[]): void => {
    const paths = signatures
      .flatMap(({ parameters }) => parameters)
      .filter(
        (parameter) =>
          !ts.isParameterPropertyDeclaration(parameter.valueDeclaration!, parameter.valueDeclaration!.parent),
      )
      .flatMap((parameter) => pathsOf(checker.getTypeOfSymbol(parameter), '', 1));
    if (paths.length > 0) found.set(name, [...new Set(paths)].toSorted());
  };

  for (const barrel of barrels()) {
    for (const exported of checker.getExportsOfModule(
      checker.getSymbolAtLocation(program.getSourceFile(barrel)!)!,
    )) {
      const symbol = (exported.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(exported) : exported;
      const listed = exported.declarations?.[0]?.parent?.parent;
      if ((symbol.flags & ts.SymbolFlags.Value) === 0 || isInternal(listed)) continue;
      const type = checker.getTypeOfSymbol(symbol);
      const makes = type.getConstructSignatures().filter(({ declaration }) => !isInternal(declaration));
      if (makes.some((each) => each.getReturnType().getProperty('stack'))) continue;
      add(symbol.name, type.getCallSignatures());
      add(`new ${symbol.name}`, makes);
      if (makes.length === 0 && type.getConstructSignatures().length === 0) continue;
      for (const own of type.getProperties().filter(({ name }) => name !== 'prototype')) {
        add(`${symbol.name}.${own.name}`, checker.getTypeOfSymbol(own).getCallSignatures());
      }
    }
  }
  return found;
}

/** Returns a host that finds our own sources only. Options are ours, and other packages would take most of the time. */
function hostOfSources(): TypeScript.CompilerHost {
  const host = ts.createCompilerHost(OPTIONS);
  const cache = ts.createModuleResolutionCache(SRC, (name) => name, OPTIONS);
  host.resolveModuleNameLiterals = (names, from, redirected, options, source) =>
    names.map((name) => {
      const hasOptions =
        /^(?:\.|#|@nestjs\/common|ioredis|node:)/.test(name.text) && !name.text.endsWith('.generated.js');
      if (!hasOptions) return { resolvedModule: undefined };
      const mode = ts.getModeForUsageLocation(source, name, options);
      return ts.resolveModuleName(name.text, from, options, host, cache, redirected, mode);
    });
  return host;
}

function isInternal(node: TypeScript.Node | undefined): boolean {
  return node !== undefined && ts.getJSDocTags(node).some((tag) => tag.tagName.text === 'internal');
}
