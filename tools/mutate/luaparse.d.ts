declare module 'luaparse' {
  /** A node of the tree. Its other fields depend on its type. */
  export interface Node {
    readonly type: string;
    readonly range: [number, number];
    readonly [field: string]: unknown;
  }

  export function parse(text: string, options: { luaVersion: '5.1'; ranges: true }): Node;
}
