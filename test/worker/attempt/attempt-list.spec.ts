import { expect, it } from '@jest/globals';
import { AttemptList, type ListItem } from '#worker/attempt/attempt.js';

class Item implements ListItem<Item> {
  before: Item | undefined;
  behind: Item | undefined;
  constructor(readonly name: string) {}
}

function listOf(...names: string[]): { list: AttemptList<Item>; items: Item[] } {
  const list = new AttemptList<Item>();
  const items = names.map((name) => new Item(name));
  items.forEach((item) => list.add(item));
  return { list, items };
}

const namesOf = (list: AttemptList<Item>) => [...list].map(({ name }) => name);

it.each([
  { place: 'first', index: 0, left: ['b', 'c'] },
  { place: 'middle', index: 1, left: ['a', 'c'] },
  { place: 'last', index: 2, left: ['a', 'b'] },
])('keeps the order without the $place item', ({ index, left }) => {
  const { list, items } = listOf('a', 'b', 'c');
  list.delete(items[index]!);
  expect(namesOf(list)).toEqual(left);
  expect(list.size).toBe(2);
  expect(items.map((item) => list.has(item))).toEqual([0, 1, 2].map((each) => each !== index));
});

it('a list of attempts is empty without its only item, and takes it again', () => {
  const { list, items } = listOf('a');
  list.delete(items[0]!);
  expect([...list]).toEqual([]);
  expect(list.has(items[0]!)).toBe(false);
  list.add(items[0]!);
  expect(namesOf(list)).toEqual(['a']);
});

it('a list of attempts ignores the removal of an item that it does not have', () => {
  const { list, items } = listOf('a', 'b');
  list.delete(items[1]!);
  list.delete(items[1]!);
  list.delete(new Item('stranger'));
  expect(namesOf(list)).toEqual(['a']);
  expect(list.size).toBe(1);
});

it('a list of attempts iterates over all items although some are removed meanwhile', () => {
  const { list, items } = listOf('a', 'b', 'c');
  const seen: string[] = [];
  for (const { name } of list) {
    seen.push(name);
    items.forEach((item) => list.delete(item));
  }
  expect(seen).toEqual(['a', 'b', 'c']);
  expect(list.size).toBe(0);
});

it('a list of attempts leaves no link in a removed item, so that it keeps no other alive', () => {
  const { list, items } = listOf('a', 'b', 'c');
  list.delete(items[1]!);
  expect(items[1]).toEqual(new Item('b'));
});
