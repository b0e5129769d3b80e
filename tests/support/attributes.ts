/** Extended attributes and access control lists of files, which Deno's own API does not have. */

import assert from "node:assert/strict";
import { type ByteString, toByteString } from "../../src/os/files/byte_string.ts";
import { EOPNOTSUPP } from "../../src/os/errno.ts";
import { attributeNames, readAttribute, writeAttribute } from "../../src/os/files/extended_attributes.ts";
import { AT_FDCWD, closeFd, O_RDONLY, openAt } from "../../src/os/files/file_calls.ts";

type Attributes = Record<string, Uint8Array<ArrayBuffer>>;

/** False when the filesystem has no such attributes. */
export function setAttributes(path: string, attributes: Attributes): boolean {
  return withOpen(path, (fd) =>
    Object.entries(attributes).every(([name, value]) => {
      const failure = writeAttribute(fd, toByteString(name), value);
      assert.ok(failure === 0 || failure === -EOPNOTSUPP, `${name} of ${path}: ${failure}`);
      return failure === 0;
    }));
}

/** Without those of the system's own. */
export function attributesOf(path: string): Attributes {
  return withOpen(path, (fd) => {
    const names = attributeNames(fd) as ByteString[];
    const wanted = names.filter((name) => !/^(security|trusted)\./.test(name));
    return Object.fromEntries(wanted.map((name) => [name, readAttribute(fd, name) as Uint8Array<ArrayBuffer>]));
  });
}

export interface AccessList {
  readonly user: number;
  /** By user id. */
  readonly users: Record<number, number>;
  readonly group: number;
  readonly mask: number;
  readonly other: number;
}

/** The form the kernel keeps it in: a version, and for each entry its tag, permissions and id. */
export function accessList({ user, users, group, mask, other }: AccessList): Uint8Array<ArrayBuffer> {
  const NOBODY = 0xffffffff;
  const entries = [
    [0x01, user, NOBODY],
    ...Object.entries(users).map(([id, permissions]) => [0x02, permissions, Number(id)]),
    [0x04, group, NOBODY],
    [0x10, mask, NOBODY],
    [0x20, other, NOBODY],
  ];
  const view = new DataView(new ArrayBuffer(4 + 8 * entries.length));
  view.setUint32(0, 2, true);
  entries.forEach(([tag, permissions, id], index) => {
    view.setUint16(4 + 8 * index, tag!, true);
    view.setUint16(6 + 8 * index, permissions!, true);
    view.setUint32(8 + 8 * index, id!, true);
  });
  return new Uint8Array(view.buffer);
}

function withOpen<Value>(path: string, use: (fd: number) => Value): Value {
  const fd = openAt(AT_FDCWD, toByteString(path), O_RDONLY);
  assert.ok(fd >= 0, path);
  try {
    return use(fd);
  } finally {
    closeFd(fd);
  }
}
