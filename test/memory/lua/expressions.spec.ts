// Expressions of Lua have the values that Redis gives them: numbers, texts, patterns, tables and JSON.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import fc from '../../support/queue/properties.js';
import { differences, literal } from './both-runners.js';

let redis: Redis;
beforeAll(() => {
  redis = connect();
});
const key = uniqueQueueName();

async function expectSame(expressions: readonly string[]): Promise<void> {
  expect(await differences(redis, key, expressions)).toEqual([]);
}

/** Joins each of some items with each of others. */
function pairs<One, Other>(ones: readonly One[], others: readonly Other[]): [One, Other][] {
  return ones.flatMap((one) => others.map((other): [One, Other] => [one, other]));
}

/** Returns the items of a text, which are apart by more than one blank. */
function listed(text: string): string[] {
  return text.trim().split(/\s{2,}/);
}

const NUMBERS = listed(String.raw`
  0   -0   1   -1   2.5   -2.5   0.5   0.1   1e15   1e16   1e17   1e100   2^53   2^63   -2^63
  123456789012345   1234567890123456   99999999999999.5   1.7e308   5e-324   0/0   1/0   -1/0
  1234567890123.5   0.30000000000000004   100000000   300000000   1e21   1e22
`);
const TEXTS = listed(String.raw`
  ''   '0'   '5'   ' 5 '   '5.'   '.5'   '0x10'   '0x1p4'   '1e3'   'inf'   '-inf'   'nan'   'abc'
  '5 5'   '0x'   '1e'   '+7'   '--1'   'a,b'   '\195\164'   '\0'   '5\0'   '\n7\t'
`);
const OTHERS = ['nil', 'true', 'false', '{}', '{1,2}'];
const FEW = ['nil', 'false', '0', '-1', '2.5', '1e16', '0/0', '1/0', "''", "'5'", "'0x10'", "'abc'", '{}'];

describe('numbers and operators', () => {
  const values = [...NUMBERS, ...TEXTS, ...OTHERS];

  it.each(['tostring(%)', 'tonumber(%)', 'type(%)', '-(%)', '#(%)', 'not (%)', '(%) .. ""'])(
    'agree on %s',
    (form) => expectSame(values.map((value) => form.replace('%', value))),
  );

  it.each(['+', '-', '*', '/', '%', '^', '..', '==', '~=', '<', '<=', '>', '>=', 'and', 'or'])(
    'agree on %s',
    (operator) =>
      expectSame(
        // The powers of V8 and of C differ in their last digit, but for whole exponents.
        pairs(FEW, FEW)
          .filter(([, b]) => operator !== '^' || b !== '2.5')
          .map(([a, b]) => `(${a}) ${operator} (${b})`),
      ),
  );

  it('agree on functions of mathematics', () =>
    expectSame([
      ...pairs(['floor', 'ceil', 'abs'], [...NUMBERS, "'5.5'", 'nil', "'x'"]).map(([f, x]) => `math.${f}(${x})`),
      ...pairs(FEW, FEW).flatMap(([a, b]) => [`math.min(${a}, ${b})`, `math.max(${a}, ${b})`]),
      ...listed(String.raw`
  math.min(3, 1, 2)   math.max(1, 0/0, 2)   math.max(0/0, 1, 2)   math.min(1, 0/0)   math.huge
`),
    ]));

  it('agree on the order of operators', () =>
    expectSame([
      ...listed(String.raw`
  2 ^ 3 ^ 2   -2 ^ 2   not 1 == 2   1 .. 2 .. 3   2 * 3 % 4   1 + 2 < 4 and 5 or 6   #"ab" + 1
  7 % 3   -7 % 3   7 % -3   -7 % -3   5.5 % 2   1e18 % 7   5 % math.huge   -5 % math.huge
  "10" + 5   "0x10" * 2   10 .. ""   -"2"   "a" < "b"   "a" < "B"   "" < "\0"   "Z" < "\195"
`),
    ]));
});

describe('formats', () => {
  const formats = ['%d', '%i', '%s', '%f', '%.0f', '%.1f', '%.2f', '%5.1f', '%-8d|', '%08d', '%+d', '%5d', '%.3d'];
  const more = ['%g', '%.14g', '%.17g', '%.3g', '%10.4g', '%5s|', '%-5s|', '%.2s', '%06.2f', '% d', '%.0g', '%%'];
  const values = [
    ...NUMBERS,
    "'7'",
    "'abc'",
    'nil',
    'true',
    '1.005',
    '0.125',
    '2.675',
    '12345.5',
    '0.5',
    '1.5',
    '3.5',
  ];

  it('agree', () =>
    expectSame(
      pairs(
        [...formats, ...more],
        values.filter((value) => value !== '-2^63'),
      ).map(([format, value]) => `string.format('${format}', ${value})`),
    ));

  it('agree on hexadecimal digits', () =>
    expectSame(['0', '255', '-1', '2.9', "'7'", '2^53', 'nil'].map((value) => `string.format('%x', ${value})`)));

  it('agree on several parts', () =>
    expectSame(["string.format('a%sb%dc%%', 'x', 3)", "string.format('%s')", "string.format('%d', '3.7')"]));
});

describe('texts', () => {
  const places = ['0', '1', '2', '-1', '-2', '-9', '9', '2.7', "'2'", '1/0'];

  it('agree on their parts', () =>
    expectSame([
      ...pairs(places, places).map(([from, to]) => `string.sub('hello', ${from}, ${to})`),
      ...places.flatMap((from) => [`string.sub('hello', ${from})`, `string.byte('hello', ${from})`]),
      ...pairs(places, places).map(([from, to]) => `string.byte('hello', ${from}, ${to})`),
      ...['-1', '0', '1', '3', '2.9'].map((count) => `string.rep('ab', ${count})`),
      ...['"aBc1"', '"\\195\\132"', '5', 'nil'].flatMap((x) => [`string.lower(${x})`, `string.upper(${x})`]),
      ...['"abc"', '5', 'nil'].map((x) => `redis.sha1hex(${x})`),
    ]));

  const patterns = [
    ...listed(String.raw`
  l   l+   l*   l-   l?   ^h   ^e   o$   ^$   .   .-   .*   (l)(l)   (h(e))   [aeiou]   [^aeiou]+
`),
    '',
    ...listed(String.raw`
  [a-f]+   %a+   %d*   %s   %w+$   %l+   %u   %p   %x+   [%l%d-]+   [%]]   []]   [^]]+   %.   l$l
  ^(.-)l   (.-)$   [l-]   %%   )   [   %   [%a   h.l   [\192-\255][\128-\191]*$   %z   %c
`),
  ];
  const texts = ['hello', '', 'l', 'Hello World 42', 'a-b]c.d%e', 'h\\195\\164llo', 'a\\0b\\nc'];

  it('agree on patterns', () =>
    expectSame(
      pairs(texts, patterns).flatMap(([text, pattern]) => [
        `string.find('${text}', '${pattern}' .. '')`,
        `string.match('${text}', '${pattern}' .. '')`,
        `string.gsub('${text}', '${pattern}' .. '', '<%0>')`,
        `string.gsub('${text}', '${pattern}' .. '', '%1', 2)`,
      ]),
    ));

  it('agree on searches from a place', () =>
    expectSame(
      [...places, 'nil'].flatMap((from) => [
        `string.find('hello', 'l', ${from})`,
        `string.find('hello', 'l', ${from}, true)`,
        `string.find('hello', '', ${from})`,
        `string.match('hello', '(.)', ${from})`,
        `string.find('', '', ${from})`,
      ]),
    ));

  it('agree on all matches', () =>
    expectSame(
      pairs(texts, ['%a+', '.', '(%a)(%a)', '%d*', 'l']).map(
        ([text, pattern]) =>
          `(function() local t = {} for a, b in string.gmatch('${text}', '${pattern}') do t[#t + 1] = { a, b } end return t end)()`,
      ),
    ));

  it('agree on replacements', () =>
    expectSame([
      "string.gsub('hello', 'l', { l = 'L' })",
      "string.gsub('hello', 'l', { l = false })",
      "string.gsub('hello', '.', { l = 1 })",
      "string.gsub('hello', '(h)(e)', function(a, b) return b .. a end)",
      "string.gsub('hello', 'l', function() end)",
      "string.gsub('hello', 'l', function() return {} end)",
      "string.gsub('hello', '(l)', '%2')",
      "string.gsub('hello', 'l', '%%')",
      "string.gsub('hello', 'l', 5)",
      "string.gsub('hello', 'l', nil)",
      "string.gsub('hello', 'l*', 'x')",
      "string.gsub('hello', '', '-')",
      "string.gsub('hello', 'l', 'x', 0)",
      "string.gsub('hello', '^.', 'x')",
    ]));
});

describe('tables', () => {
  it('agree', () =>
    expectSame(
      [
        ...listed(String.raw`
  table.concat({1, 2, 'x'}, ',')   table.concat({}, ',')   table.concat({1, {}}, ',')
  table.concat({1,2,3}, '-', 2)
  table.concat({1,2,3}, '-', 2, 3)   table.concat({1,2,3}, nil)   table.concat({1.5, 1e15})
  table.concat({1,2}, ',', 1, 3)
  unpack({1, 2, 3})   unpack({1, 2, 3}, 2)   unpack({1, 2, 3}, 2, 5)   unpack({})   unpack(nil)
  {unpack({1,2}), 9}
  select('#')   select('#', nil, nil)   select(2, 'a', 'b', 'c')   select(-1, 'a', 'b')   select(0, 1)
  select(-3, 1)
  next({}) == nil   (next({5}))   (next({ a = 1 }))   #{1, 2, nil}   #{nil}   #{n = 1}
  {(unpack({1, 2}))}   next(5)
  pcall(error, "x")   pcall(error, { err = "x" })   pcall(function() return 1, 2 end)   pcall(5)
  (pcall(error))
  rawlen   { [1] = "a", [2] = "b" }   { "a", [1] = "b" }   { [2] = "b", [1] = "a", x = {} }
  { [0/0] = 1 }   { [nil] = 1 }
`),
      ].filter((each) => each !== 'rawlen'),
    ));

  it('agree on their changes', () =>
    expectSame(
      [
        't[1] = 1 t[2] = 2 t[4] = 4 t[3] = 3',
        't[1] = 1 t[2] = 2 t[2] = nil',
        't[1] = 1 t[1] = nil t[1] = 2',
        'table.insert(t, "a") table.insert(t, 1, "b") table.insert(t, 2, "c")',
        't[1] = 1 t[2] = 2 t[3] = 3 t.r = table.remove(t, 1)',
        't[1] = 1 t[2] = 2 t.r = table.remove(t)',
        't.r = { table.remove(t) }',
        't.r = { table.remove({ 1 }, 5) }',
        'table.insert(t, 1, 2, 3)',
        't[1] = 3 t[2] = 1 t[3] = 2 table.sort(t)',
        't[1] = "b" t[2] = "B" t[3] = "a" table.sort(t, function(a, b) return a > b end)',
        't[1] = 1 t[2] = "x" table.sort(t)',
        't[1.5] = 1 t["1"] = 2 t[1] = 3',
        't.a = 1 t.a = nil t.b = t.a',
        't[1], t[2] = 2, t[1]',
        'local a, b, c = unpack({ 1, 2 }) t.a, t.b, t.c = a, b, c',
        'for i = 3, 1, -1 do t[#t + 1] = i end',
        'for i = 1, 2, 0.5 do t[#t + 1] = i end',
        'for i = 1, 0 do t[1] = i end',
        'for i, v in ipairs({ 1, 2, nil, 4 }) do t[i] = v end',
        'for k, v in pairs({ 5, a = 1, b = 2 }) do t[k] = v end',
        'local i = 0 while true do i = i + 1 if i > 3 then break end t[i] = i end',
        'local fs = {} for i = 1, 3 do fs[i] = function() return i end end for i = 1, 3 do t[i] = fs[i]() end',
        'local function f(...) return select("#", ...), ... end t[1], t[2] = f(nil, nil)',
        'local function f(...) return ... end t[1], t[2], t[3] = f(1, 2), 9',
        'local x = 1 do local x = 2 t[1] = x end t[2] = x',
        'local x = 1 local x = x + 1 t[1] = x',
        'local f do local n = 0 function f() n = n + 1 return n end end f() t[1] = f()',
        'local m = setmetatable({}, { __index = { a = 5 } }) t[1] = m.a t[2] = m.b m.a = 1 t[3] = m.a',
        'if nil then t[1] = 1 elseif 0 then t[1] = 2 else t[1] = 3 end',
        't.x.y = 1',
        'local s = "abc" t[1] = s.x',
        'local a = {} t[1] = a == {} t[2] = a == a',
        't[1] = (nil or false) == false t[2] = nil and 1 t[3] = false or nil',
      ].map((body) => `(function() local t = {} ${body} return t end)()`),
    ));
});

describe('JSON', () => {
  it('agrees on what is written', () =>
    expectSame(
      [
        ...NUMBERS,
        ...TEXTS,
        ...OTHERS,
        '{ a = 1 }',
        '{ { 1 }, { a = {} } }',
        '{ 1, nil, 3 }',
        '{ [3] = 1 }',
        '{ [20] = 1 }',
      ]
        .concat([
          '{ [1.5] = 1 }',
          '{ "a", b = 1 }',
          '{ [true] = 1 }',
          "'/\\\\\"\\127\\1\\b\\t'",
          '{ cjson.decode("null") }',
          '{ [-1] = 1 }',
        ])
        .map((value) => `cjson.encode(${value})`),
    ));

  it('agrees on what is read', () =>
    expectSame(
      [
        ...listed(String.raw`
  null   true   false   1   -1   +7   007   1.5   .5   5.   1e3   1e   nan   NaN   inf   -inf
  Infinity
  0x10   0x   -   []   {}   [1,2]   [1,]   [,1]   {"a":1}   {"a":1,}   {a:1}   [1 2]   {"a" 1}
`),
        '',
        ' ',
        ...listed(String.raw`
  "a"   "a   "\n"   "\u00e4"   "\ud83d\ude00"   "\ud83d"   "\ude00"   "\u12"   "\x"
`),
        '"\t"',
        '"\0"',
        ...listed(String.raw`
  tru   nul   trueX   1 1   [[[]]]   {"a":{"b":[null]}}   {"1":1,"a":2}   {"a":1,"a":2}   'a'   [1]x
`),
        ' [ 1 , 2 ] ',
        ...listed(String.raw`
  1e400   -0   123456789012345678   "\/"   "/"   [true,false,null]   {"a":null}
`),
        '\n{\t"a" : 1 }\r',
        `${'['.repeat(1000)}${']'.repeat(1000)}`,
        `${'['.repeat(1001)}${']'.repeat(1001)}`,
      ].map((text) => `cjson.decode(${literal(text)})`),
    ));
});

describe('expressions that are drawn', () => {
  // Lua 5.1 keeps 0 and -0 of a function as one constant, and C knows the sign of NaN.
  const leaf = fc.constantFrom(
    ...NUMBERS.filter((each) => each !== '-0'),
    ...TEXTS.filter((each) => each !== "'nan'"),
    'nil',
    'true',
    'false',
  );
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc
        .tuple(
          tie('expression'),
          fc.constantFrom('+', '-', '*', '/', '..', '==', '<', '>=', 'and', 'or'),
          tie('expression'),
        )
        .map(([a, operator, b]) => `((${a}) ${operator} (${b}))`),
      fc
        .tuple(fc.constantFrom('tostring', 'tonumber', 'type', 'cjson.encode', '#', 'not', '-'), tie('expression'))
        .map(([name, a]) => `(${name} (${a}))`),
      fc
        .tuple(tie('expression'), fc.integer({ min: -4, max: 4 }), fc.integer({ min: -4, max: 4 }))
        .map(([a, from, to]) => `string.sub(${a}, ${from}, ${to})`),
      fc
        .tuple(fc.constantFrom('%d', '%.14g', '%.3f', '%s'), tie('expression'))
        .map(([f, a]) => `string.format('${f}', ${a})`),
      fc.array(tie('expression'), { minLength: 1, maxLength: 3 }).map((items) => `math.max(${items.join(', ')})`),
      fc
        .array(tie('expression'), { maxLength: 3 })
        .map((items) => `(select(1, ${items.concat('nil').join(', ')}))`),
    ),
  }));

  const table = fc.array(expression, { maxLength: 3 }).map((items) => `{ ${items.join(', ')} }`);

  it('agree', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(expression, table), { minLength: 1, maxLength: 60 }), expectSame),
      {
        numRuns: 100,
      },
    ));

  it('agree on patterns and JSON of any texts', () => {
    const text = fc.string({
      unit: fc.constantFrom(...Array.from('aAb1 -.%[]()*+?^$"\\{}:,nul\n\x7f\xe4')),
      maxLength: 12,
    });
    const calls = fc
      .tuple(text, text)
      .map(([a, b]) => [
        `string.find(${literal(a)}, ${literal(b)}, 1, true)`,
        `cjson.decode(${literal(a)})`,
        `cjson.decode(cjson.encode(${literal(a)}))`,
        `tonumber(${literal(b)})`,
        `${literal(a)} < ${literal(b)}`,
      ]);
    return fc.assert(
      fc.asyncProperty(fc.array(calls, { minLength: 1, maxLength: 20 }), (all) => expectSame(all.flat())),
      { numRuns: 100 },
    );
  });
});
