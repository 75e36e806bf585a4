// The older row of supported versions, tested beside the newest ones that devDependencies name.
export const nest11Versions = {
  '@nestjs/common': '11.2.10',
  '@nestjs/core': '11.2.10',
  '@nestjs/platform-express': '11.2.10',
  '@nestjs/platform-fastify': '11.2.8',
  '@nestjs/testing': '11.2.6',
  '@nestjs/schedule': '6.1.3',
  '@nestjs/terminus': '11.1.1',
  ioredis: '5.11.1',
};
