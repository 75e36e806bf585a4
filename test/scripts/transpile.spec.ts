// Tests are transpiled file by file: this holds that Nest still gets the types of constructor parameters.
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { expect, it } from '@jest/globals';

@Injectable()
class Engine {
  readonly power = 3;
}

@Injectable()
class Car {
  constructor(readonly engine: Engine) {}
}

it('injects by the type of a constructor parameter', async () => {
  const app = await Test.createTestingModule({ providers: [Car, Engine] }).compile();
  expect(app.get(Car).engine.power).toBe(3);
  await app.close();
});
