// What the outbox says of a handle of TypeORM that is no transaction.
import { expect, it } from '@jest/globals';
import { fromTypeOrm, type TypeOrmDataSource } from '#outbox/orm-handles.js';

const query = async () => [];
const dataSource = {
  options: { type: 'postgres' },
  transaction: (work: never) => work,
  query,
} as never as TypeOrmDataSource;
const { refusalOf } = fromTypeOrm(dataSource);

it.each([
  ['no EntityManager or QueryRunner', {}],
  ['no EntityManager or QueryRunner', undefined],
  ['the DataSource itself', dataSource],
  ['a manager without a transaction', { query }],
  ['a manager without a transaction', { query, queryRunner: { isTransactionActive: false } }],
  [undefined, { query, queryRunner: { isTransactionActive: true } }],
  [undefined, { query, isTransactionActive: true }],
])('says %s', (refusal, handle) => {
  expect(refusalOf(handle)).toBe(refusal);
});
