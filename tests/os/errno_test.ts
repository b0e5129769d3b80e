import assert from "node:assert/strict";
import { describeErrno } from "../../src/os/errno.ts";

Deno.test("describeErrno() speaks as the operating system does", () => {
  assert.equal(describeErrno(2), "No such file or directory (os error 2)");
  assert.equal(describeErrno(13), "Permission denied (os error 13)");
  assert.equal(describeErrno(20), "Not a directory (os error 20)");
  assert.equal(describeErrno(39), "Directory not empty (os error 39)");
  assert.equal(describeErrno(30), "Read-only file system (os error 30)");
});

Deno.test("describeErrno() shows the number of an error it does not know", () => {
  assert.equal(describeErrno(9999), "Unknown error 9999 (os error 9999)");
});

Deno.test("describeErrno() agrees with the runtime about errors that files make", () => {
  const directory = Deno.makeTempDirSync();
  Deno.writeTextFileSync(`${directory}/file`, "");
  const attempts: Array<[errno: number, attempt: () => unknown]> = [
    [2, () => Deno.readFileSync(`${directory}/missing`)],
    [17, () => Deno.mkdirSync(directory)],
    [20, () => Deno.readFileSync(`${directory}/file/x`)],
    [21, () => Deno.readFileSync(directory)],
    [36, () => Deno.readFileSync(`${directory}/${"x".repeat(300)}`)],
    [39, () => Deno.removeSync(directory)],
  ];
  for (const [errno, attempt] of attempts) {
    assert.throws(attempt, (error: Error) => error.message.includes(describeErrno(errno)), `${errno}`);
  }
  Deno.removeSync(directory, { recursive: true });
});
