// Only its owner writes the state of a part of the worker. No class there has a field that others can assign.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import ts from 'typescript';

const ROOT = 'src/worker';

/** The links of a list's items, which the list writes. */
const LINKS = ['Attempt.before', 'Attempt.behind'];

/** Returns the fields of a file's classes that code outside of the class may assign, as `Class.field`. */
function assignableFields(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isClassDeclaration(node)) {
      const fields = node.members.flatMap<ts.ClassElement | ts.ParameterDeclaration>((member) =>
        ts.isConstructorDeclaration(member) ? member.parameters.filter(isField) : [member],
      );
      found.push(...fields.filter(isAssignable).map((field) => `${node.name?.text}.${field.name!.getText()}`));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true));
  return found;
}

/** Returns true for a parameter of a constructor that is a field as well. */
function isField(parameter: ts.ParameterDeclaration): boolean {
  return ts.isParameterPropertyDeclaration(parameter, parameter.parent);
}

function isAssignable(member: ts.ClassElement | ts.ParameterDeclaration): boolean {
  if (member.name && ts.isPrivateIdentifier(member.name)) {
    return false;
  }
  const modifiers = ts.canHaveModifiers(member) ? (ts.getModifiers(member) ?? []) : [];
  const isFixed = modifiers.some(({ kind }) =>
    [ts.SyntaxKind.ReadonlyKeyword, ts.SyntaxKind.PrivateKeyword, ts.SyntaxKind.ProtectedKeyword].includes(kind),
  );
  return (ts.isPropertyDeclaration(member) || ts.isParameter(member) || ts.isSetAccessor(member)) && !isFixed;
}

it('no class of the worker has a field that others can assign', () => {
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const found = files.flatMap((file) => assignableFields(readFileSync(join(ROOT, file), 'utf8')));
  expect(files.length).toBeGreaterThan(30);
  expect(found.filter((field) => !LINKS.includes(field))).toEqual([]);
});

it.each([
  ['a public field', 'class A { x = 1; }', ['A.x']],
  ['a public parameter', 'class A { constructor(public x: number) {} }', ['A.x']],
  ['a setter', 'class A { set x(to: number) {} }', ['A.x']],
  [
    'a fixed field',
    'class A { readonly x = 1; constructor(private y: number, z: number) {} get w() { return 1; } }',
    [],
  ],
])('finds %s', (_, source, found) => {
  expect(assignableFields(source)).toEqual(found);
});
