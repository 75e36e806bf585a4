import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { CodecError, isCodec, type ContentContext, type JobCodec } from './codec.js';
import { encodeJson } from './encode-content.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show, showKind } from '../errors/show.js';
import { checkKnown } from '../validation/validate-options.js';

/** A key of `encrypted()`. */
export interface EncryptionKey {
  /** Stored beside each value: 1 to 64 of A-Z a-z 0-9 _ - */
  id: string;
  /** 32 bytes, or their base64. */
  key: Uint8Array | string;
}

/** Options of `encrypted()`. */
export interface EncryptionOptions {
  /** The codec that converts values to JSON first. @default JSON itself */
  codec?: JobCodec | undefined;
  /**
   * What becomes of a job that was stored in the clear, such as by a process without the codec. `run`: it runs, and a warning
   * is logged. `refuse`: it becomes a dead letter, and processes without the codec cannot enqueue. @default `run`
   */
  plainJobs?: 'run' | 'refuse' | undefined;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The least number of different bytes of a key. Of 32 random bytes fewer are different once in 10^24 keys. */
const LEAST_DIFFERENT = 12;
/** The least number of bytes that come again. Fewer are chance: the last byte of one key in 256 is its first. */
const LEAST_REPEATED = 8;
const MAKE = 'Make one by: node -p "crypto.randomBytes(32).toString(\'base64\')"';
const SWAPPED = "Are id and key in each other's place?";

/**
 * Returns a codec that encrypts payloads, results, progress, errors and log lines with AES-256-GCM. The first key
 * encrypts, all keys decrypt. So put a new key first, and remove an old one when none of its jobs is left. Ids, names
 * and metadata stay readable.
 *
 * @throws InvalidOptionError
 * @example forRoot({ codec: encrypted([{ id: '2030-01', key: process.env.JOBS_KEY! }]) })
 */
export function encrypted(keys: readonly EncryptionKey[], options: EncryptionOptions = {}): JobCodec {
  const known = checkKeys(keys);
  const { codec, plainJobs } = checkEncryption(options);
  const [[currentId, currentKey]] = [...known] as [[string, Buffer]];
  const digestKey = hmac(currentKey, 'nest-job-queue digest');
  return {
    name: codec ? `encrypted-${codec.name}` : 'encrypted',
    secret: true,
    keyIds: [...known.keys()],
    plainJobs,
    takesJson: codec === undefined,
    digest: (text) => hmac(digestKey, text),
    encode(value, subject, context) {
      const json = encodeJson(subject, codec ? codec.encode(value, subject, context) : value, Infinity);
      return `${currentId}.${seal(currentKey, boundTo(currentId, context), json)}`;
    },
    decode(encoded, context) {
      const [, id, sealed] = /^([\w-]+)\.(.+)$/.exec(String(encoded)) ?? [];
      const key = id === undefined ? undefined : known.get(id);
      if (!key || id === undefined) {
        throw new CodecError(`Encrypted by the key ${show(id)}; this process has ${[...known.keys()].join(', ')}.`);
      }
      const value: unknown = JSON.parse(open(key, boundTo(id, context), sealed!));
      return codec ? codec.decode(value, context) : value;
    },
  };
}

/** @throws InvalidOptionError, which shows no value: a key may be in its place */
function checkEncryption(options: EncryptionOptions): EncryptionOptions {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionError('encrypted options', 'an object with codec', showKind(options));
  }
  checkKnown('encrypted options', options, ['codec', 'plainJobs']);
  const { codec, plainJobs } = options;
  if (plainJobs !== undefined && plainJobs !== 'run' && plainJobs !== 'refuse') {
    throw new InvalidOptionError('encrypted options.plainJobs', "'run' or 'refuse'", showKind(plainJobs));
  }
  if (codec !== undefined && !isCodec(codec)) {
    throw new InvalidOptionError('encrypted options.codec', 'a codec: { name, encode, decode }', showKind(codec));
  }
  return options;
}

function checkKeys(keys: readonly EncryptionKey[]): Map<string, Buffer> {
  // No error shows a value: the key may be in any place.
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new InvalidOptionError('encrypted', 'a list of at least one { id, key }', showKind(keys));
  }
  const known = new Map<string, Buffer>();
  (keys as readonly Partial<EncryptionKey>[]).forEach((each, i) => {
    const { id, key } = each ?? {};
    if (typeof id !== 'string' || !/^[\w-]{1,64}$/.test(id) || known.has(id)) {
      const expected = '1 to 64 of A-Z a-z 0-9 _ -, each once';
      throw new InvalidOptionError(`encrypted[${i}].id`, expected, showKind(id), 'The key is the other option.');
    }
    if (isRandom(Buffer.from(id, 'base64')) && Buffer.from(id, 'base64').length === KEY_BYTES) {
      throw new InvalidOptionError(
        `encrypted[${i}].id`,
        'the name of a key',
        'what may be the key itself',
        SWAPPED,
      );
    }
    const bytes = bytesOf(key);
    if (bytes?.length !== KEY_BYTES) {
      const found = bytes ? `${bytes.length} bytes` : showKind(key);
      throw new InvalidOptionError(`encrypted[${i}].key`, `${KEY_BYTES} bytes, or their base64`, found, MAKE);
    }
    if (!isRandom(bytes)) {
      throw new InvalidOptionError(`encrypted[${i}].key`, `${KEY_BYTES} random bytes`, 'bytes that repeat', MAKE);
    }
    known.set(id, bytes);
  });
  return known;
}

function hmac(key: Buffer | string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

function bytesOf(key: unknown): Buffer | undefined {
  if (typeof key === 'string') {
    return Buffer.from(key, 'base64');
  }
  return key instanceof Uint8Array ? Buffer.from(key) : undefined;
}

/** Returns whether bytes may be random. Zeros, and a pattern that is repeated, are not, also where its end is cut off. */
function isRandom(bytes: Buffer): boolean {
  return new Set(bytes).size >= LEAST_DIFFERENT && !repeats(bytes);
}

function repeats(bytes: Buffer): boolean {
  const longest = bytes.length - LEAST_REPEATED; // beyond it, a pattern has enough bytes of its own
  return Array.from({ length: Math.max(0, longest) }, (_, i) => i + 1).some((period) =>
    bytes.subarray(period).equals(bytes.subarray(0, -period)),
  );
}

/** Returns the key's id and the place of a value. Both are bound to the value, so that none can be exchanged. */
function boundTo(keyId: string, { queue, field, id }: ContentContext): string {
  return JSON.stringify([keyId, queue, field, id]);
}

function seal(key: Buffer, place: string, text: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(place));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** Decrypts a text, unless it was changed or belongs to another place. */
function open(key: Buffer, place: string, text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}
