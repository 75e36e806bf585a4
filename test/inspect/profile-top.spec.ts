// Which functions of a profile took most.
import { describe, expect, it } from '@jest/globals';
import { topFunctions } from '#cli/commands/profile-command.js';

const frame = (functionName: string, url = '', lineNumber = 0) => ({ functionName, url, lineNumber });

describe('the functions that took most', () => {
  it('of the time are counted by their samples, without the idle time and without what they call', () => {
    const profile = {
      nodes: [
        { id: 1, callFrame: frame('(root)'), children: [2, 3, 4, 6] },
        { id: 6, callFrame: frame('dispatch') }, // of the inspector
        { id: 2, callFrame: frame('(idle)') },
        { id: 3, callFrame: frame('parse', 'file:///app/parse.js', 6), children: [5] },
        { id: 4, callFrame: frame('', 'file:///app/main.js', 0) },
        { id: 5, callFrame: frame('parse', 'file:///app/parse.js', 6) },
      ],
      samples: [6, 2, 3, 5, 4],
      timeDeltas: [800, 900, 30, 45, 25],
    };
    expect(topFunctions('q', 'cpu', JSON.stringify(profile))).toEqual([
      { name: 'parse', place: '/app/parse.js:7', share: 0.75 },
      { name: '(anonymous)', place: '/app/main.js:1', share: 0.25 },
    ]);
  });

  it('of the memory are counted by their own bytes', () => {
    const leaf = { callFrame: frame('fill', 'file:///app/a.js', 1), selfSize: 300, children: [] };
    const head = { callFrame: frame('(root)'), selfSize: 100, children: [leaf] };
    expect(topFunctions('q', 'heap', JSON.stringify({ head }))).toEqual([
      { name: 'fill', place: '/app/a.js:2', share: 0.75 },
      { name: '(root)', place: '', share: 0.25 },
    ]);
  });

  it.each(['{', '{"nodes":1}', 'null'])('are not those of the text %s, which another program wrote', (json) => {
    for (const kind of ['cpu', 'heap'] as const) {
      expect(() => topFunctions('q', kind, json)).toThrow('no profile of V8');
    }
  });
});
