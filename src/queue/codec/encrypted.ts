import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { CodecError, type ContentContext, type JobCodec } from './codec.js';
import { encodeJson } from './encode-content.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';

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
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Returns a codec that encrypts payloads, results, progress, errors and log lines with AES-256-GCM. The first key
 * encrypts, all keys decrypt. So put a new key first, and remove an old one when none of its jobs is left. Ids, names
 * and metadata stay readable.
 *
 * @throws InvalidOptionError
 * @example forRoot({ codec: encrypted([{ id: '2030-01', key: process.env.JOBS_KEY! }]) })
 */
export function encrypted(keys: readonly EncryptionKey[], { codec }: EncryptionOptions = {}): JobCodec {
  const known = checkKeys(keys);
  const [[currentId, currentKey]] = [...known] as [[string, Buffer]];
  return {
    name: codec ? `encrypted-${codec.name}` : 'encrypted',
    secret: true,
    keyIds: [...known.keys()],
    takesJson: codec === undefined,
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

function checkKeys(keys: readonly EncryptionKey[]): Map<string, Buffer> {
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new InvalidOptionError('encrypted', 'a list of at least one { id, key }', show(keys));
  }
  const known = new Map<string, Buffer>();
  (keys as readonly Partial<EncryptionKey>[]).forEach((each, i) => {
    const { id, key } = each ?? {};
    if (typeof id !== 'string' || !/^[\w-]{1,64}$/.test(id) || known.has(id)) {
      throw new InvalidOptionError(`encrypted[${i}].id`, '1 to 64 of A-Z a-z 0-9 _ -, each once', show(id));
    }
    const bytes = typeof key === 'string' ? Buffer.from(key, 'base64') : key && Buffer.from(key);
    if (bytes?.length !== KEY_BYTES) {
      // Never shows the key itself.
      throw new InvalidOptionError(
        `encrypted[${i}].key`,
        `${KEY_BYTES} bytes, or their base64`,
        bytes ? `${bytes.length} bytes` : 'none',
        'Make one by: node -p "crypto.randomBytes(32).toString(\'base64\')"',
      );
    }
    known.set(id, bytes);
  });
  return known;
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
